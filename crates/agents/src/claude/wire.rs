//! The forms of Claude Code's lines, as far as they are looked at.
//!
//! Invariant: what has another form than expected is missing, or makes its line unknown; never more.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::signal::TokenCounts;

/// Keys of a tool's input that say what it is used for, the most telling first.
const TELLING: [&str; 9] = [
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "path",
    "url",
    "description",
    "prompt",
    "question",
];

/// A text that is copied only if it must be.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

impl BorrowedText<'_> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The beginning of a line, which says its type.
#[derive(Deserialize)]
pub(super) struct Head<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: BorrowedText<'a>,
}

/// A message of the model, or one block of it.
#[derive(Deserialize)]
pub(super) struct Assistant<'a> {
    #[serde(borrow)]
    pub(super) message: Option<Message<'a>>,
    pub(super) parent_tool_use_id: Option<Value>,
    /// Which error it was, in a message that no model wrote.
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<BorrowedText<'a>>,
    #[serde(borrow, default)]
    pub(super) content: Content<'a>,
    pub(super) usage: Option<ClaudeUsage>,
}

/// The blocks of a message. One that is a plain text has none.
#[derive(Default)]
pub(super) struct Content<'a>(pub(super) Vec<ContentBlock<'a>>);

#[derive(Deserialize)]
pub(super) struct ContentBlock<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    thinking: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<BorrowedText<'a>>,
    pub(super) input: Option<ToolInput>,
}

impl ContentBlock<'_> {
    /// Returns how much the model wrote for it.
    pub(super) fn bytes(&self) -> u64 {
        let texts = [&self.text, &self.thinking, &self.name];
        let texts = texts.into_iter().flatten().map(|text| text.as_str().len() as u64);
        texts.sum::<u64>() + self.input.as_ref().map_or(0, |input| input.bytes)
    }
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "they are its own names")]
pub(super) struct ClaudeUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl ClaudeUsage {
    pub(super) fn tokens(&self) -> TokenCounts {
        TokenCounts {
            input: self.input_tokens.unwrap_or(0),
            output: self.output_tokens.unwrap_or(0),
            cache_read: self.cache_read_input_tokens.unwrap_or(0),
            cache_write: self.cache_creation_input_tokens.unwrap_or(0),
        }
    }
}

/// The last line. Every value is taken as it is, so that none of a wrong form can hide the line.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ResultLine {
    pub(super) subtype: Value,
    pub(super) is_error: Value,
    pub(super) api_error_status: Value,
    pub(super) api_error_type: Value,
    pub(super) api_error: Value,
    pub(super) terminal_reason: Value,
    pub(super) stop_reason: Value,
    pub(super) result: Value,
    pub(super) errors: Value,
    pub(super) session_id: Value,
    #[serde(rename = "modelUsage")]
    pub(super) model_usage: Value,
    pub(super) model_usage_since_last_result: Value,
    pub(super) structured_output: Option<Value>,
}

impl ResultLine {
    /// Returns true if it says that all went well. A subtype alone does not: that is `success` for errors of
    /// the provider, too.
    pub(super) fn is_clear(&self) -> bool {
        self.is_error == Value::Bool(false) && self.subtype == "success"
    }
}

/// The input of a tool: its size, and the most telling part.
pub(super) struct ToolInput {
    pub(super) bytes: u64,
    pub(super) about: String,
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Blocks<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Blocks<'a> {
            type Value = Content<'a>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text or a list of blocks")
            }
            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(Content::default())
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Content::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = seq.next_element()? {
                    blocks.push(block);
                }
                Ok(Content(blocks))
            }
        }
        input.deserialize_any(Blocks(PhantomData))
    }
}

impl<'de> Deserialize<'de> for ToolInput {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let leaf = Leaf::deserialize(input)?;
        Ok(Self {
            bytes: leaf.bytes,
            about: leaf.about.map(|(_, about)| about).unwrap_or_default(),
        })
    }
}

/// Any JSON value: how many bytes of text it has, and its most telling text with its rank.
struct Leaf {
    bytes: u64,
    text: Option<String>,
    about: Option<(usize, String)>,
}

impl Leaf {
    const fn without_text(bytes: u64) -> Self {
        Self { bytes, text: None, about: None }
    }
}

/// A longer text of a tool's input is not a telling one.
const TELLING_BYTES_MAX: usize = 64 * 1024;

impl<'de> Deserialize<'de> for Leaf {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Leaf;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("anything")
            }
            fn visit_bool<E>(self, _: bool) -> Result<Leaf, E> {
                Ok(Leaf::without_text(4))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Leaf, E> {
                Ok(Leaf::without_text(4))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Leaf, E> {
                Ok(Leaf::without_text(4))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Leaf, E> {
                Ok(Leaf::without_text(4))
            }
            fn visit_unit<E>(self) -> Result<Leaf, E> {
                Ok(Leaf::without_text(4))
            }
            fn visit_str<E>(self, text: &str) -> Result<Leaf, E> {
                let telling = (text.len() <= TELLING_BYTES_MAX).then(|| text.to_owned());
                Ok(Leaf { bytes: text.len() as u64, text: telling, about: None })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Leaf, A::Error> {
                let mut bytes = 2;
                while let Some(leaf) = seq.next_element::<Leaf>()? {
                    bytes += leaf.bytes;
                }
                Ok(Leaf::without_text(bytes))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Leaf, A::Error> {
                let mut whole = Leaf::without_text(2);
                while let Some(key) = map.next_key::<BorrowedText<'de>>()? {
                    let rank = TELLING.iter().position(|known| *known == key.as_str());
                    let leaf: Leaf = map.next_value()?;
                    whole.bytes += key.as_str().len() as u64 + leaf.bytes;
                    if let (Some(rank), Some(text)) = (rank, leaf.text)
                        && whole.about.as_ref().is_none_or(|(best, _)| rank < *best)
                    {
                        whole.about = Some((rank, text));
                    }
                }
                Ok(whole)
            }
        }
        input.deserialize_any(Any)
    }
}
