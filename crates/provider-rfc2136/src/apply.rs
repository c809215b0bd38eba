//! Carrying groups out: which of them share a message, which server gets it, and what its answer means for each.
//!
//! In: the groups of one call. Out: one outcome for each. What must hold: a request that may have been carried out is never
//! sent to another server, [`Outcome::Applied`] is said only of what the server confirmed and cannot have swallowed, and
//! [`Outcome::Refused`] only of a refusal that is signed, or after which everything was found as before.

use domain::base::iana::Rcode;
use zonewright_core::change::{Blame, Change, Group, Outcome};
use zonewright_core::{DnsName, Error, ErrorKind, RecordSet, RecordType, Result, Ttl};

use crate::error::ExchangeError;
use crate::read;
use crate::server::{Case, Server};
use crate::servers::{Servers, join, unconfigured};
use crate::tsig::{self, Invalid};
use crate::update::{self, OPERATION, Part};
use crate::wire::{self, Answer, MAX_MESSAGE};

/// Carries out `groups` in as few messages as they fit; `default` is the TTL of a set without one.
pub(crate) async fn apply(servers: &Servers, zone: &DnsName, groups: &[Group], default: Ttl) -> Vec<Outcome> {
    let limit = MAX_MESSAGE - servers.overhead();
    let parts: Vec<Result<Part>> = groups.iter().map(|group| Part::new(zone, group, default)).collect();
    let mut outcomes: Vec<Option<Outcome>> =
        parts.iter().map(|part| part.as_ref().err().cloned().map(Outcome::refused)).collect();
    let sound: Vec<(usize, &Part)> =
        parts.iter().enumerate().filter_map(|(i, part)| part.as_ref().ok().map(|part| (i, part))).collect();
    let mut rest = sound.as_slice();
    while let Some((&(first, _), _)) = rest.split_first() {
        let (count, message) = fit(zone, rest, limit);
        let (now, later) = rest.split_at(count.max(1));
        rest = later;
        let Some(message) = message else {
            put(&mut outcomes, first, groups.get(first).map(update::too_long));
            continue;
        };
        let members: Vec<&Part> = now.iter().map(|(_, part)| *part).collect();
        for ((index, _), outcome) in now.iter().zip(carry_out(servers, zone, &message, &members).await) {
            put(&mut outcomes, *index, Some(outcome));
        }
    }
    outcomes.into_iter().flatten().collect()
}

fn put(outcomes: &mut [Option<Outcome>], index: usize, outcome: Option<Outcome>) {
    if let Some(slot) = outcomes.get_mut(index) {
        *slot = outcome;
    }
}

/// How many of the parts go into one message, and that message; halves their number until they fit.
fn fit(zone: &DnsName, parts: &[(usize, &Part)], limit: usize) -> (usize, Option<Vec<u8>>) {
    let mut count = parts.len();
    loop {
        let members: Vec<&Part> = parts.iter().take(count).map(|(_, part)| *part).collect();
        match update::message(zone, &members, limit) {
            None if count > 1 => count /= 2,
            message => return (count, message),
        }
    }
}

/// What one server made of a message.
struct Reply {
    /// One for each part.
    outcomes: Vec<Outcome>,
    /// Whether that is the end of it. Where it is not, another server may be asked: nothing came of the request here.
    settled: bool,
}

impl Reply {
    /// The same outcome for all.
    fn all(outcome: Outcome, settled: bool, parts: &[&Part]) -> Self {
        Self { outcomes: vec![outcome; parts.len()], settled }
    }

    /// Whether the server gave an answer that settles the matter, good or bad.
    fn is_answer(&self) -> bool {
        self.settled && !self.outcomes.iter().any(|o| matches!(o, Outcome::NotSent(_) | Outcome::Unknown(_)))
    }
}

/// Sends one message to one server after the other, until the matter is settled.
async fn carry_out(servers: &Servers, zone: &DnsName, message: &[u8], parts: &[&Part]) -> Vec<Outcome> {
    let mut earlier: Option<Vec<Outcome>> = None;
    let mut order = servers.order().peekable();
    while let Some((position, server)) = order.next() {
        let reply = attempt(server, zone, message, parts).await;
        servers.note_result(position, reply.is_answer());
        let outcomes = match earlier.take() {
            Some(earlier) => earlier.into_iter().zip(reply.outcomes).map(|(e, o)| after(&e, o)).collect(),
            None => reply.outcomes,
        };
        if reply.settled {
            return outcomes;
        }
        // What the last one says is reported by whoever asked.
        if let Some(error) = outcomes.iter().find_map(Outcome::error).filter(|_| order.peek().is_some()) {
            tracing::warn!(error = %error.chain(), "a DNS server did not take an update; the next one is asked");
        }
        earlier = Some(outcomes);
    }
    earlier.unwrap_or_else(|| vec![Outcome::NotSent(unconfigured(OPERATION)); parts.len()])
}

/// The outcome of a later attempt, with what earlier servers said added to its error. Where a later one only says that it refuses
/// whatever it is asked, what an earlier one refused stands; and one group may be to blame where any of them says so.
fn after(earlier: &Outcome, later: Outcome) -> Outcome {
    let Some(said) = earlier.error().cloned() else { return later };
    match (earlier, later) {
        (_, Outcome::Applied) => Outcome::Applied,
        (_, Outcome::NotSent(error)) => Outcome::NotSent(join(Some(said), error)),
        (_, Outcome::Unknown(error)) => Outcome::Unknown(join(Some(error), said)),
        (Outcome::Refused { blame, .. }, Outcome::Refused { error, blame: Blame::Group })
            if is_about_the_server(&error) =>
        {
            Outcome::Refused { error: join(Some(said), error), blame: *blame }
        }
        (Outcome::Refused { blame: Blame::Batch, .. }, Outcome::Refused { error, .. }) => {
            Outcome::Refused { error: join(Some(error), said), blame: Blame::Batch }
        }
        (_, Outcome::Refused { error, blame }) => Outcome::Refused { error: join(Some(error), said), blame },
    }
}

/// Whether a refusal says nothing of what was to be changed.
fn is_about_the_server(error: &Error) -> bool {
    let fault = std::error::Error::source(error).and_then(|source| source.downcast_ref::<ExchangeError>());
    fault.is_some_and(ExchangeError::is_about_the_server)
}

/// Sends a message to one server and sees to what it may swallow.
async fn attempt(server: &Server, zone: &DnsName, message: &[u8], parts: &[&Part]) -> Reply {
    let error = |fault: ExchangeError| server.error(fault, OPERATION, zone);
    let case = match case_of(server, zone, parts).await {
        Ok(case) => case,
        // What asks only for a prerequisite changes nothing, so nothing was sent that counts.
        Err(fault) => return Reply::all(Outcome::NotSent(error(fault)), false, parts),
    };
    if case == Case::Folded
        && let Some(reply) = look_first(server, zone, parts).await
    {
        return reply;
    }
    let (outcome, settled) = match server.exchange(message).await {
        Ok(answer) if !answer.trusted => {
            let rcode = answer.rcode();
            let fault = ExchangeError::Rcode { rcode, trusted: false };
            if answer.repeated {
                return Reply::all(Outcome::Unknown(error(fault)), true, parts);
            }
            return unsigned(server, zone, parts, fault, !update::is_worth_another(rcode)).await;
        }
        Ok(answer) => judge(&answer, error, parts.len()),
        Err(failure) if failure.fault.is_refusal() && !failure.repeated => {
            return unsigned(server, zone, parts, failure.fault, false).await;
        }
        Err(failure) if failure.sent => (Outcome::Unknown(error(failure.fault)), true),
        Err(failure) => (Outcome::NotSent(error(failure.fault)), false),
    };
    if !matches!(outcome, Outcome::Applied) {
        return Reply::all(outcome, settled, parts);
    }
    if case == Case::Exact {
        // The prerequisite held as it was written, and did not hold in other letters.
        server.learn(Case::Exact);
    }
    Reply { outcomes: read_back(server, zone, parts).await, settled }
}

/// Whether the server distinguishes upper from lower case in prerequisites. PowerDNS does not: to it a claim of owner `a` is one of
/// owner `A`. It is found out once for each server, by a message of nothing but a prerequisite in other letters.
async fn case_of(server: &Server, zone: &DnsName, parts: &[&Part]) -> Result<Case, ExchangeError> {
    let known = server.case();
    let Some(probe) = parts.iter().find_map(|part| part.probe(zone)).filter(|_| known == Case::Unknown) else {
        return Ok(known);
    };
    let answer = server.exchange(&probe).await.map_err(|failure| failure.fault);
    match answer.map(|answer| answer.rcode()) {
        Ok(Rcode::NOERROR) => {
            server.learn(Case::Folded);
            Ok(Case::Folded)
        }
        Ok(Rcode::NXRRSET) => Ok(Case::Exact),
        Ok(_) => Ok(Case::Unknown),
        Err(fault) if fault.is_refusal() => Ok(Case::Unknown),
        Err(fault) => Err(fault),
    }
}

/// Compares the old texts letter by letter where the server does not. `None` if all of them stand as they should.
async fn look_first(server: &Server, zone: &DnsName, parts: &[&Part]) -> Option<Reply> {
    let texts: Vec<&RecordSet> = parts.iter().flat_map(|part| &part.texts).collect();
    let stale = match missing(server, zone, &texts).await {
        Ok(stale) if stale.is_empty() => return None,
        Ok(stale) => stale,
        Err(error) => return Some(Reply::all(Outcome::NotSent(error), false, parts)),
    };
    let outcome = |part: &&Part| {
        let own = part.texts.iter().find(|set| stale.contains(set));
        let named = own.or(stale.first().copied()).map_or_else(String::new, ToString::to_string);
        let context = format!("server {}, zone {zone}: {named} does not stand so", server.label());
        let error = Error::new(ErrorKind::Conflict, OPERATION, context);
        Outcome::Refused { error, blame: if own.is_some() { Blame::Group } else { Blame::Batch } }
    };
    Some(Reply { outcomes: parts.iter().map(outcome).collect(), settled: true })
}

/// A refusal that nobody signed. A server cannot sign for a key that it does not know, and PowerDNS signs no refusal; but
/// anybody could have sent it. So it is read back by a stream whether everything stands as before: only then was it a refusal,
/// and another server may be asked. Where that cannot be determined, nobody knows what became of the update; nor where it was sent
/// twice, since the first copy may still be on its way.
async fn unsigned(server: &Server, zone: &DnsName, parts: &[&Part], fault: ExchangeError, settled: bool) -> Reply {
    let error = |fault: ExchangeError| server.error(fault, OPERATION, zone);
    let Some(witness) = parts.iter().find_map(|part| part.witness.as_ref()) else {
        return Reply::all(refusal(fault, error, parts.len()), settled, parts);
    };
    match stands_as_before(server, zone, witness).await {
        Ok(true) => Reply::all(policy(server, fault, error, parts.len()), settled, parts),
        Ok(false) => {
            let mut said = error(fault);
            said.context.push_str("; yet what was to be changed does not stand as before");
            Reply::all(Outcome::Unknown(said), true, parts)
        }
        Err(unread) => {
            let unread = server.error(unread, "read back", zone);
            Reply::all(Outcome::Unknown(join(Some(error(fault)), unread)), true, parts)
        }
    }
}

/// What became of one of `count` groups after this refusal of all.
fn refusal(fault: ExchangeError, error: impl Fn(ExchangeError) -> Error, count: usize) -> Outcome {
    match fault {
        ExchangeError::Rcode { rcode, .. } => update::refused(rcode, error(fault), count),
        _ => Outcome::refused(error(fault)),
    }
}

/// As [`refusal`], after something of the zone was read of this server. Where that was signed, the server knows the zone and the key:
/// it forbids something of what was to be changed. To an update that its ACL forbids, be it for one record, Knot answers as to an unknown
/// key (NOTAUTH and BADKEY, unsigned).
fn policy(server: &Server, fault: ExchangeError, error: impl Fn(ExchangeError) -> Error, count: usize) -> Outcome {
    match fault {
        _ if !server.knows_by_query() => refusal(fault, error, count),
        ExchangeError::Signature(Invalid::Objection { error: tsig::BADKEY, .. }) => {
            update::refused_together(error(ExchangeError::Policy), count)
        }
        ExchangeError::Rcode { rcode: Rcode::NOTAUTH, .. } => update::refused_together(error(fault), count),
        _ => refusal(fault, error, count),
    }
}

/// Whether a message was not carried out. It is one transaction (RFC 2136 3.4), so one of its changes shows all.
async fn stands_as_before(server: &Server, zone: &DnsName, witness: &Change) -> Result<bool, ExchangeError> {
    let names = [witness.key().name.clone()].into();
    let sets = read::names(server, zone, &names).await?;
    let standing = sets.iter().find(|set| set.key == *witness.key());
    Ok(is_before(witness, standing))
}

/// Whether what stands is the old side of a change.
fn is_before(change: &Change, standing: Option<&RecordSet>) -> bool {
    match (change.from(), standing) {
        (None, None) => true,
        (Some(from), Some(set)) => from.data == set.data && (from.ttl.is_none() || from.ttl == set.ttl),
        _ => false,
    }
}

/// What a signed answer to an UPDATE message means, and whether that settles it.
fn judge(answer: &Answer, error: impl Fn(ExchangeError) -> Error, count: usize) -> (Outcome, bool) {
    let rcode = answer.rcode();
    if rcode == Rcode::NOERROR {
        return (Outcome::Applied, true);
    }
    let error = error(ExchangeError::Rcode { rcode, trusted: true });
    if answer.repeated && (update::is_conflict(rcode) || rcode == Rcode::SERVFAIL) {
        // Perhaps the first copy was carried out, and the second one met what the first had done, or was doing.
        return (Outcome::Unknown(error), true);
    }
    (update::refused(rcode, error, count), !update::is_worth_another(rcode))
}

/// Asks after what a server may have swallowed of parts that it confirmed.
async fn read_back(server: &Server, zone: &DnsName, parts: &[&Part]) -> Vec<Outcome> {
    let doubtful: Vec<&RecordSet> = parts.iter().flat_map(|part| &part.doubtful).collect();
    let missing = missing(server, zone, &doubtful).await;
    parts.iter().map(|part| verdict(server, zone, part, &missing)).collect()
}

/// Those of `sets` that do not stand so, TTLs aside. One query each, none for none; a transfer where queries do not show it.
async fn missing<'a>(server: &Server, zone: &DnsName, sets: &[&'a RecordSet]) -> Result<Vec<&'a RecordSet>> {
    let keys: Vec<(&DnsName, RecordType)> = sets.iter().map(|set| (&set.key.name, set.key.rtype)).collect();
    let records = read::sets(server, zone, &keys).await.map_err(|f| server.error(f, "read back", zone))?;
    let standing = wire::group(records);
    let stands = |set: &RecordSet| standing.iter().any(|there| there.key == set.key && there.data == set.data);
    Ok(sets.iter().filter(|set| !stands(set)).copied().collect())
}

/// What became of a part of a message that the server confirmed.
fn verdict(server: &Server, zone: &DnsName, part: &Part, missing: &Result<Vec<&RecordSet>>) -> Outcome {
    match missing {
        _ if part.doubtful.is_empty() => Outcome::Applied,
        Err(error) => Outcome::Unknown(error.clone()),
        Ok(missing) => match part.doubtful.iter().find(|set| missing.contains(set)) {
            None => Outcome::Applied,
            // What the group took away is gone, so this is no refusal: the name has to be read again.
            Some(set) => Outcome::Unknown(Error::new(
                ErrorKind::Conflict,
                OPERATION,
                format!(
                    "server {}, zone {zone}: confirmed {set}, but it is not there; another record at this name is in the way",
                    server.label()
                ),
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::identity::Identity;

    #[test]
    fn what_several_servers_refused() {
        use Blame::{Batch, Group};
        use ErrorKind::{Unauthorized, Unavailable, Unsupported};
        let server = Server::new("192.0.2.1".to_owned(), 53, None, Identity::Nobody, Arc::default());
        let refused = |rcode: Rcode, count: usize| {
            let fault = ExchangeError::Rcode { rcode, trusted: true };
            update::refused(rcode, server.error(fault, OPERATION, &DnsName::parse("z").unwrap()), count)
        };
        for (first, then, kind, blame) in [
            (Rcode::REFUSED, Rcode::NOTIMP, Unauthorized, Batch),
            (Rcode::REFUSED, Rcode::NOTAUTH, Unauthorized, Batch),
            (Rcode::SERVFAIL, Rcode::NOTAUTH, Unavailable, Batch),
            (Rcode::SERVFAIL, Rcode::REFUSED, Unauthorized, Batch),
            (Rcode::NOTIMP, Rcode::REFUSED, Unauthorized, Batch),
            (Rcode::NOTAUTH, Rcode::REFUSED, Unauthorized, Batch),
            (Rcode::NOTIMP, Rcode::NOTIMP, Unsupported, Group),
            (Rcode::NOTAUTH, Rcode::NOTIMP, Unauthorized, Group),
        ] {
            for (count, blame) in [(1, Group), (3, blame)] {
                let outcome = after(&refused(first, count), refused(then, count));
                let Outcome::Refused { error, blame: found } = &outcome else { panic!("{outcome:?}") };
                assert_eq!((error.kind, *found), (kind, blame), "{first}, {then} for {count}");
                assert!([first, then].iter().all(|rcode| error.context.contains(&rcode.to_string())), "{error}");
            }
        }
    }
}
