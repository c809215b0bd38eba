//! Go's "gob" encoding (encoding/gob), as much of it as a list of endpoints needs.
//!
//! In come the bytes of one value with the type definitions before it; out comes a [`Value`], read by the definitions that
//! the sender gave, so that fields that it left out or added do no harm. What must hold: no input makes the reader panic,
//! recurse without end, or take more memory than a small multiple of the input's length.

use std::collections::BTreeMap;

/// Deepest nesting of a value.
const DEPTH: usize = 32;

/// A value of any type.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A switch.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number without sign.
    Uint(u64),
    /// A number with a fraction, as its bits.
    Float(u64),
    /// Text; also bytes, which are read as text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A map from text to anything.
    Map(BTreeMap<String, Value>),
    /// A structure: its fields by name. Fields that are zero are left out by the sender.
    Struct(BTreeMap<String, Value>),
}

/// What is wrong with the bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum GobError {
    /// They end within a value.
    #[error("the data ends in the middle of a value")]
    Short,
    /// They make no sense.
    #[error("{0}")]
    Bad(&'static str),
    /// A type that was never defined.
    #[error("type {0} was not defined before its use")]
    Undefined(i64),
}

/// A type that the sender defined.
#[derive(Debug, Clone, Default)]
struct WireType {
    slice_of: Option<i64>,
    map: Option<(i64, i64)>,
    fields: Option<Vec<(String, i64)>>,
}

/// Types that every sender knows.
mod builtin {
    pub(super) const BOOL: i64 = 1;
    pub(super) const INT: i64 = 2;
    pub(super) const UINT: i64 = 3;
    pub(super) const FLOAT: i64 = 4;
    pub(super) const BYTES: i64 = 5;
    pub(super) const STRING: i64 = 6;
}

/// Reads the first value of a stream.
///
/// # Errors
/// The bytes end too early, or are no gob.
pub(super) fn read(bytes: &[u8]) -> Result<Value, GobError> {
    let mut stream = Reader { rest: bytes };
    let mut types = BTreeMap::new();
    loop {
        let length = stream.length()?;
        let mut message = Reader { rest: stream.take(length)? };
        let id = message.int()?;
        if id < 0 {
            types.insert(-id, message.wire_type()?);
            continue;
        }
        let is_struct = types.get(&id).is_some_and(|wire: &WireType| wire.fields.is_some());
        if !is_struct && message.uint()? != 0 {
            return Err(GobError::Bad("a value that is no structure begins with a zero"));
        }
        return message.value(id, &types, DEPTH);
    }
}

/// Whether the stream holds its first value to the end, as far as the lengths in it show.
pub(super) fn is_complete(bytes: &[u8]) -> bool {
    let mut stream = Reader { rest: bytes };
    let mut message = || -> Result<i64, GobError> {
        let length = stream.length()?;
        Reader { rest: stream.take(length)? }.int()
    };
    loop {
        match message() {
            Ok(definition) if definition < 0 => {}
            Ok(_) => return true,
            // What makes no sense does not get better by waiting for more of it.
            Err(error) => return error != GobError::Short,
        }
    }
}

/// Bytes that are still to be read.
#[derive(Debug, Clone, Copy)]
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], GobError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(GobError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    /// One byte below 128, or the number of bytes (negated, as a byte) and then those, the highest first.
    fn uint(&mut self) -> Result<u64, GobError> {
        let first = *self.take(1)?.first().ok_or(GobError::Short)?;
        if first < 128 {
            return Ok(u64::from(first));
        }
        let count = usize::from(first.wrapping_neg());
        if count > 8 {
            return Err(GobError::Bad("a number has more than eight bytes"));
        }
        Ok(self.take(count)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// The lowest bit says whether the others are complemented.
    fn int(&mut self) -> Result<i64, GobError> {
        let number = self.uint()?;
        let half = i64::try_from(number >> 1).map_err(|_| GobError::Bad("a number is out of range"))?;
        Ok(if number & 1 == 1 { !half } else { half })
    }

    fn length(&mut self) -> Result<usize, GobError> {
        usize::try_from(self.uint()?).map_err(|_| GobError::Bad("a length is out of range"))
    }

    /// A number of elements, each of which has at least one byte.
    fn count(&mut self) -> Result<usize, GobError> {
        let count = self.length()?;
        if count > self.rest.len() { Err(GobError::Short) } else { Ok(count) }
    }

    fn text(&mut self) -> Result<String, GobError> {
        let length = self.length()?;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    /// Hands the numbers of the fields that are there, from 1, to `read`.
    fn fields(&mut self, mut read: impl FnMut(&mut Self, usize) -> Result<(), GobError>) -> Result<(), GobError> {
        let mut field = 0_usize;
        loop {
            let step = self.length()?;
            if step == 0 {
                return Ok(());
            }
            field = field.checked_add(step).ok_or(GobError::Bad("a field number is out of range"))?;
            read(self, field)?;
        }
    }

    /// The definition of a type: one of the seven forms of `wireType`.
    fn wire_type(&mut self) -> Result<WireType, GobError> {
        let mut wire = WireType::default();
        self.fields(|reader, form| match form {
            2 => reader.fields(|reader, field| match field {
                1 => reader.common(),
                2 => reader.int().map(|element| wire.slice_of = Some(element)),
                _ => Err(GobError::Bad("a slice type has two fields")),
            }),
            3 => {
                let struct_type = reader.struct_type()?;
                wire.fields = Some(struct_type);
                Ok(())
            }
            4 => {
                let (mut key, mut element) = (0, 0);
                reader.fields(|reader, field| match field {
                    1 => reader.common(),
                    2 => reader.int().map(|id| key = id),
                    3 => reader.int().map(|id| element = id),
                    _ => Err(GobError::Bad("a map type has three fields")),
                })?;
                wire.map = Some((key, element));
                Ok(())
            }
            _ => Err(GobError::Bad("a type is neither structure, list nor map")),
        })?;
        Ok(wire)
    }

    fn struct_type(&mut self) -> Result<Vec<(String, i64)>, GobError> {
        let mut found = Vec::new();
        self.fields(|reader, field| match field {
            1 => reader.common(),
            2 => {
                for _ in 0..reader.count()? {
                    found.push(reader.field_type()?);
                }
                Ok(())
            }
            _ => Err(GobError::Bad("a structure type has two fields")),
        })?;
        Ok(found)
    }

    fn field_type(&mut self) -> Result<(String, i64), GobError> {
        let (mut name, mut id) = (String::new(), 0);
        self.fields(|reader, field| match field {
            1 => reader.text().map(|text| name = text),
            2 => reader.int().map(|number| id = number),
            _ => Err(GobError::Bad("a field has a name and a type")),
        })?;
        Ok((name, id))
    }

    /// Name and id of a type: nothing in them is needed.
    fn common(&mut self) -> Result<(), GobError> {
        self.field_type().map(|_| ())
    }

    fn value(&mut self, id: i64, types: &BTreeMap<i64, WireType>, depth: usize) -> Result<Value, GobError> {
        let depth = depth.checked_sub(1).ok_or(GobError::Bad("the value is nested too deeply"))?;
        match id {
            builtin::BOOL => Ok(Value::Bool(self.uint()? != 0)),
            builtin::INT => Ok(Value::Int(self.int()?)),
            builtin::UINT => Ok(Value::Uint(self.uint()?)),
            builtin::FLOAT => Ok(Value::Float(self.uint()?.swap_bytes())),
            builtin::BYTES | builtin::STRING => Ok(Value::Text(self.text()?)),
            _ => self.defined(types.get(&id).ok_or(GobError::Undefined(id))?, types, depth),
        }
    }

    fn defined(&mut self, wire: &WireType, types: &BTreeMap<i64, WireType>, depth: usize) -> Result<Value, GobError> {
        if let Some(fields) = &wire.fields {
            let mut found = BTreeMap::new();
            self.fields(|reader, field| {
                let (name, id) =
                    fields.get(field - 1).ok_or(GobError::Bad("a value has a field that its type lacks"))?;
                found.insert(name.clone(), reader.value(*id, types, depth)?);
                Ok(())
            })?;
            return Ok(Value::Struct(found));
        }
        if let Some(element) = wire.slice_of {
            let count = self.count()?;
            return (0..count).map(|_| self.value(element, types, depth)).collect::<Result<_, _>>().map(Value::List);
        }
        let Some((key, element)) = wire.map else { return Err(GobError::Bad("a type is empty")) };
        if key != builtin::STRING {
            return Err(GobError::Bad("the keys of a map are not text"));
        }
        let mut found = BTreeMap::new();
        for _ in 0..self.count()? {
            let key = self.text()?;
            found.insert(key, self.value(element, types, depth)?);
        }
        Ok(Value::Map(found))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One endpoint, as Go writes it.
    const ONE: &str = "\
        0dff8b020102ff8c0001ff82000076ff81030102ff820001070107444e534e616d65010c0001075461726765747301ff8400\
        010a5265636f726454797065010c00010d5365744964656e746966696572010c0001095265636f726454544c01040001064c\
        6162656c7301ff8600011050726f7669646572537065636966696301ff8a00000015ff83020101075461726765747301ff84\
        00010c000016ff85040101064c6162656c7301ff8600010c010c00001fff890201011050726f766964657253706563696669\
        6301ff8a0001ff88000039ff870301011850726f7669646572537065636966696350726f706572747901ff8800010201044e\
        616d65010c00010556616c7565010c00000047ff8c0001010f6162632e6578616d706c652e6f7267010107312e322e332e34\
        01014102fe01680101087265736f7572636501780101010a6177732f776569676874010231300000";

    /// One endpoint, in bytes.
    pub(crate) fn one() -> Vec<u8> {
        bytes(ONE)
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn fields(pairs: &[(&str, Value)]) -> BTreeMap<String, Value> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn one_endpoint() {
        let property = Value::Struct(fields(&[("Name", text("aws/weight")), ("Value", text("10"))]));
        let endpoint = Value::Struct(fields(&[
            ("DNSName", text("abc.example.org")),
            ("Targets", Value::List(vec![text("1.2.3.4")])),
            ("RecordType", text("A")),
            ("RecordTTL", Value::Int(180)),
            ("Labels", Value::Map(fields(&[("resource", text("x"))]))),
            ("ProviderSpecific", Value::List(vec![property])),
        ]));
        assert_eq!(read(&bytes(ONE)), Ok(Value::List(vec![endpoint])));
    }

    #[test]
    fn no_endpoint() {
        let all = bytes(ONE);
        let definitions = all.len() - 0x48;
        let mut none = all[..definitions].to_vec();
        none.extend([0x04, 0xff, 0x8c, 0x00, 0x00]);
        assert_eq!(read(&none), Ok(Value::List(Vec::new())));
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        let all = bytes(ONE);
        for end in 0..all.len() {
            assert!(read(&all[..end]).is_err(), "cut at {end}");
            assert!(!is_complete(&all[..end]), "cut at {end}");
        }
        assert!(is_complete(&all) && is_complete(&[0xf7; 12]));
    }

    #[test]
    fn numbers() {
        for (bytes, expected) in [
            (&[0x00][..], 0),
            (&[0x02], 1),
            (&[0x01], -1),
            (&[0xfe, 0x01, 0x68], 180),
            (&[0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe], i64::MAX),
            (&[0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], i64::MIN),
        ] {
            assert_eq!(Reader { rest: bytes }.int(), Ok(expected), "{bytes:x?}");
        }
        assert_eq!(Reader { rest: &[0xf7; 12] }.uint(), Err(GobError::Bad("a number has more than eight bytes")));
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn any_damage(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut all = bytes(ONE);
            let at = at.index(all.len());
            all[at] = byte;
            let _ = read(&all);
        }
    }
}
