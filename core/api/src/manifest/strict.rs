//! A deserializer for JSON values that knows its path, and records every key that a struct does not have.

use std::fmt;

use seaworthy_model::meta::SpecError;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

/// Reads a `T`.
///
/// # Errors
/// Every key that no struct has, or else the first value that does not fit.
pub(super) fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, Vec<SpecError>> {
    let mut unknown = Vec::new();
    let read = T::deserialize(Strict { value, path: String::new(), unknown: &mut unknown });
    match read {
        Ok(read) if unknown.is_empty() => Ok(read),
        Ok(_) => Err(unknown),
        Err(Misfit { path, message }) => {
            unknown.push(SpecError { field: path.unwrap_or_default(), message });
            Err(unknown)
        }
    }
}

struct Strict<'a> {
    value: &'a Value,
    path: String,
    unknown: &'a mut Vec<SpecError>,
}

/// A value that does not fit. The path is added on the way out, by the innermost value that the error passes.
#[derive(Debug)]
struct Misfit {
    path: Option<String>,
    message: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Misfit {}

impl serde::de::Error for Misfit {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: None, message: message.to_string() }
    }
}

impl From<serde_json::Error> for Misfit {
    fn from(error: serde_json::Error) -> Self {
        serde::de::Error::custom(error)
    }
}

impl<'a> Strict<'a> {
    fn visit_object<'de, V: Visitor<'de>>(
        self,
        map: &'a Map<String, Value>,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_map(Entries { rest: map.iter(), next: None, path: &self.path, unknown: self.unknown })
    }
}

impl<'de> Deserializer<'de> for Strict<'_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Misfit> {
        let path = std::mem::take(&mut self.path);
        let read = match self.value {
            Value::Array(items) => visitor.visit_seq(Items {
                rest: items.iter().enumerate(),
                path: &path,
                unknown: self.unknown,
            }),
            Value::Object(map) => {
                let inner = Strict { value: self.value, path: path.clone(), unknown: self.unknown };
                inner.visit_object(map, visitor)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.value.clone().deserialize_any(visitor).map_err(Misfit::from)
            }
        };
        read.map_err(|misfit| Misfit { path: misfit.path.or(Some(path)), ..misfit })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        if let Value::Object(map) = self.value {
            for key in map.keys().filter(|key| !fields.contains(&key.as_str())) {
                let message = match fields {
                    [] => "unknown field, expected none".into(),
                    fields => format!("unknown field, expected one of {}", fields.join(", ")),
                };
                self.unknown.push(SpecError { field: join(&self.path, key), message });
            }
        }
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

struct Items<'a> {
    rest: std::iter::Enumerate<std::slice::Iter<'a, Value>>,
    path: &'a str,
    unknown: &'a mut Vec<SpecError>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Misfit> {
        let Some((index, value)) = self.rest.next() else { return Ok(None) };
        let path = format!("{}[{index}]", self.path);
        seed.deserialize(Strict { value, path, unknown: self.unknown }).map(Some)
    }
}

struct Entries<'a> {
    rest: serde_json::map::Iter<'a>,
    next: Option<(&'a str, &'a Value)>,
    path: &'a str,
    unknown: &'a mut Vec<SpecError>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Misfit> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.next = Some((key, value));
        seed.deserialize(StrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        let Some((key, value)) = self.next.take() else {
            return Err(serde::de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(Strict { value, path: join(self.path, key), unknown: self.unknown })
    }
}
