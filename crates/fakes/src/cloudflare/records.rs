//! The operations on records.

use serde_json::{Map, Value, json};

use super::access::Caller;
use super::filter::Filter;
use super::ids;
use super::page::{self, Page};
use super::refusal::Refusal;
use super::request::{Operation, Request, Target};
use super::service::{Answer, Service};
use super::zone::{Stored, Zone};

/// The parts of a batch in the order in which they are carried out.
const PARTS: [&str; 4] = ["deletes", "patches", "puts", "posts"];

impl Service {
    pub(super) fn list_records(
        &mut self,
        caller: &Caller,
        target: &Target,
        request: &Request,
        repeat: bool,
    ) -> Result<Answer, Refusal> {
        let most = self.page;
        let zone = self.zone(caller, target, &request.path())?;
        let filter = Filter::read(request)?;
        let page = Page::read(request, page::RECORDS, most, repeat)?;
        let mut records: Vec<&Stored> = zone.listed().iter().filter(|stored| filter.shows(&stored.record)).collect();
        records.sort_by(|one, two| filter.compare(&one.record, &two.record));
        let (records, info) = page.cut(records);
        Ok(Answer::listing(records.into_iter().map(Stored::element).collect(), info))
    }

    /// Reads or writes one record.
    pub(super) fn one_record(
        &mut self,
        caller: &Caller,
        target: &Target,
        request: &Request,
    ) -> Result<Answer, Refusal> {
        let path = request.path();
        let zone = self.zone(caller, target, &path)?;
        let id = target.id.as_str();
        if target.operation != Operation::CreateRecord && !ids::is_id(id) {
            return Err(Refusal::no_route(&path));
        }
        let element = match target.operation {
            Operation::GetRecord => zone.listed().get(id).map(Stored::element).ok_or_else(Refusal::no_record),
            Operation::DeleteRecord => zone.write(|zone| zone.delete(id)).map(|_| json!({ "id": id })),
            operation => {
                let fields = request.fields()?;
                zone.write(|zone| match operation {
                    Operation::ReplaceRecord => zone.replace(id, &fields),
                    Operation::PatchRecord => zone.patch(id, &fields),
                    _ => zone.create(&fields),
                })
            }
        };
        element.map(Answer::one)
    }

    pub(super) fn batch(&mut self, caller: &Caller, target: &Target, request: &Request) -> Result<Answer, Refusal> {
        self.zone(caller, target, &request.path())?;
        let parts = parts(&request.fields()?)?;
        for (name, items) in PARTS.iter().zip(&parts) {
            *self.calls.entry((*name).to_owned()).or_default() += items.len();
        }
        let zone = self.zone(caller, target, &request.path())?;
        let (count, most) = (parts.iter().map(Vec::len).sum::<usize>(), zone.batch_limit.unwrap_or(zone.plan.batch()));
        if count > most {
            let message = format!("Batch has {count} operations, exceeding the limit of {most}.");
            return Err(Refusal::field(message));
        }
        let done = zone.write(|zone| {
            let mut done = Map::new();
            for (name, items) in PARTS.iter().zip(&parts) {
                let elements: Result<Vec<Value>, Refusal> =
                    items.iter().map(|item| carry_out(zone, name, item)).collect();
                done.insert((*name).to_owned(), elements?.into());
            }
            Ok(done)
        })?;
        Ok(Answer::one(done.into()))
    }
}

/// The items of each part; a part that is absent has none.
fn parts(fields: &Map<String, Value>) -> Result<[Vec<Map<String, Value>>; 4], Refusal> {
    let mut parts = [const { Vec::new() }; 4];
    for (name, items) in PARTS.iter().zip(&mut parts) {
        let given = match fields.get(*name) {
            None | Some(Value::Null) => continue,
            Some(given) => given.as_array().ok_or_else(Refusal::body)?,
        };
        let objects = given.iter().map(|item| item.as_object().cloned().ok_or_else(Refusal::body));
        *items = objects.collect::<Result<_, _>>()?;
    }
    Ok(parts)
}

fn carry_out(zone: &mut Zone, part: &str, item: &Map<String, Value>) -> Result<Value, Refusal> {
    let id = item.get("id").and_then(Value::as_str).ok_or_else(Refusal::no_record);
    match part {
        "deletes" => zone.delete(id?),
        "patches" => zone.patch(id?, item),
        "puts" => zone.replace(id?, item),
        _ => zone.create(item),
    }
}
