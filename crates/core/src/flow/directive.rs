//! Directives of gates as text: what one line of them asks for.
//!
//! Not here: how they are read (`flow/gate_text.rs`), and whether they hold ([`crate::needs`]).

use std::fmt;

use crate::{verdict::PhaseVerdict, work::WorkKind};

/// One thing that must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// The file is there, with at least so many bytes.
    Artifact { path: String, bytes_min: u64 },
    /// The field of the record passes the test.
    Require { field: RecordField, test: FieldTest },
    /// The field of the record does not pass the test.
    Forbid { field: RecordField, test: FieldTest },
    /// The phase has this recorded verdict.
    After { phase: String, verdict: PhaseVerdict },
}

/// A field of a record of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordField {
    pub kind: WorkKind,
    /// The way to it: one name, or those of objects around it.
    pub path: Vec<String>,
}

/// A comparison of a field with what is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldTest {
    Is(String),
    IsNot(String),
    IsIn(Vec<String>),
}

impl fmt::Display for RecordField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.kind, self.path.join("."))
    }
}

impl fmt::Display for FieldTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(value) => write!(f, "== {value}"),
            Self::IsNot(value) => write!(f, "!= {value}"),
            Self::IsIn(values) => write!(f, "in [{}]", values.join(", ")),
        }
    }
}
