//! Writes TOML in another form than a person would: everything inline, every key quoted.

use toml::{Table, Value};

/// Writes a table so that it reads the same, and looks different.
pub(crate) fn written(table: &Table) -> String {
    let line = |(key, value): (&String, &Value)| format!("{} = {}", quoted(key), inline(value));
    table.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) if number.is_nan() => "nan".to_owned(),
        Value::Float(number) if number.is_infinite() => {
            if *number > 0.0 { "inf" } else { "-inf" }.to_owned()
        }
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(is_true) => is_true.to_string(),
        Value::Datetime(moment) => moment.to_string(),
        Value::Array(values) => {
            format!("[{}]", values.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Table(table) => {
            let entry =
                |(key, value): (&String, &Value)| format!("{} = {}", quoted(key), inline(value));
            format!("{{ {} }}", table.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn quoted(text: &str) -> String {
    // The one character that JSON leaves as it is, and TOML does not.
    serde_json::to_string(text).unwrap().replace('\u{7f}', "\\u007f")
}
