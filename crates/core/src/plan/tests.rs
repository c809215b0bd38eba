use super::*;
use crate::claim::OwnerId;
use crate::claim::{Claim, ClaimRank};
use crate::endpoint::{OtherPrefix, Sharing, Targets};
use crate::record::Routing;
use crate::testing::{endpoint, name, set};
use std::collections::HashMap;

/// One name's world in a few words: `me:service/ns/a` after a published record is its claim.
#[derive(Default)]
struct World {
    claims: HashMap<RecordKey, Ownership>,
    doubtful: bool,
    pending: Vec<String>,
    /// Who asks for what and cannot have it.
    unmet: Vec<(&'static str, RecordKey)>,
    proven: bool,
    other_prefix: Vec<OtherPrefixRequest>,
}

impl PlanFacts for World {
    fn ownership(&self, key: &RecordKey) -> Ownership {
        self.claims.get(key).cloned().unwrap_or(Ownership::Unclaimed)
    }

    fn doubt(&self, _: Option<&Arc<str>>) -> Vec<KindId> {
        if self.doubtful { vec![Arc::from("services")] } else { vec![] }
    }

    fn unaccepted(&self, _: &RecordKey, doubt: Vec<KindId>) -> Vec<KindId> {
        doubt
    }

    fn doubt_of_claimants(&self) -> Vec<KindId> {
        self.doubt(None)
    }

    fn pending(&self, resource: Option<&Arc<str>>) -> Option<String> {
        resource.filter(|r| self.pending.iter().any(|p| p == &***r)).map(|_| "status is blank".to_owned())
    }

    fn unmet(&self, key: &RecordKey, resource: Option<&Arc<str>>) -> bool {
        let instead = |other: &RecordKey| other.rtype.excludes(key.rtype) || other.rtype.replaces(key.rtype);
        let replaces = |who: &str, other: &RecordKey| instead(other) && resource.is_some_and(|r| **r == *who);
        self.unmet.iter().any(|(who, other)| other == key || replaces(who, other))
    }

    fn other_prefix(&self) -> &[OtherPrefixRequest] {
        &self.other_prefix
    }

    fn is_proven_gone(&self, _: Option<&Arc<str>>) -> bool {
        self.proven
    }
}

struct Case {
    policy: Policy,
    cname: CnameRules,
    one_kind: bool,
    in_set: bool,
    /// Whose each published set is, in order.
    owners: Vec<Ownership>,
    managed: Vec<RecordType>,
    world: World,
    published: Vec<RecordSet>,
    placed: Vec<Placed>,
}

fn ours(resource: &str) -> Ownership {
    let (resource, foreign) = resource.split_once(" but ").map_or((resource, None), |(r, f)| (r, Some(f)));
    let (resource, policy) = resource.split_once('!').map_or((resource, None), |(r, p)| (r, Some(p)));
    let policy = policy.map(|p| (Arc::from(POLICY_LABEL), Arc::from(p)));
    let foreign =
        foreign.into_iter().flat_map(|f| f.split(' ')).map(|f| (Arc::from(FOREIGN_VALUE_LABEL), Arc::from(f)));
    Ownership::Ours(Some(Claim {
        owner: OwnerId::new("me").unwrap(),
        resource: Some(Arc::from(resource)),
        labels: policy.into_iter().chain(foreign).collect(),
        rank: ClaimRank::Typed,
        current: true,
        site: None,
    }))
}

/// `published`: `record = owner`, where owner is `me/<resource>`, `me/<resource>!<policy>`, `me/<resource> but <values of others>`, `-` or
/// another owner.
/// `wanted`: `who: record`.
fn case(published: &[&str], wanted: &[&str]) -> Case {
    let mut case = Case {
        policy: Policy::Sync,
        cname: CnameRules::STRICT,
        one_kind: false,
        in_set: false,
        owners: vec![],
        managed: vec![RecordType::A, RecordType::Aaaa, RecordType::Cname],
        world: World::default(),
        published: vec![],
        placed: vec![],
    };
    for line in published {
        let (record, owner) = line.split_once(" = ").unwrap();
        let set = set(record);
        let ownership = match owner.split_once('/') {
            Some(("me", resource)) => ours(resource),
            _ if owner == "-" => Ownership::Unclaimed,
            _ => Ownership::Foreign(OwnerId::new(owner).unwrap()),
        };
        case.owners.push(ownership.clone());
        case.world.claims.insert(set.key.clone(), ownership);
        case.published.push(set);
    }
    for line in wanted {
        let (who, record) = line.split_once(": ").unwrap();
        let (who, policy) = who.split_once('!').map_or((who, None), |(w, p)| (w, ObjectPolicy::parse(p)));
        let endpoint = endpoint("Service", who, record);
        let set = set(record);
        let wanted = Wanted {
            key: set.key.clone(),
            targets: Targets::Records(set.data.as_records().to_vec()),
            ttl: set.ttl,
            routing: endpoint.extras.routing.clone(),
            properties: endpoint.extras.properties.clone(),
            objects: vec![endpoint.origin.object.clone()],
            origin: endpoint.origin,
            resource: endpoint.resource,
            labels: endpoint.extras.labels.clone(),
            policy,
        };
        case.placed.push(Placed { set, wanted: Arc::new(wanted), in_set: case.in_set });
    }
    case
}

impl Case {
    /// Each set is a record of its own; those whose identifier this names have a weight, published or wanted.
    fn routed(mut self, published: &[&str], wanted: &[&str]) -> Self {
        self.one_kind = true;
        let give = |set: &mut RecordSet, id: &str| {
            let id = SetId::new(id);
            set.routing = if id.is_some() { Routing::Weighted { weight: 1 } } else { Routing::Simple };
            set.key.set_id = id;
        };
        self.world.claims.clear();
        for ((set, id), ownership) in self.published.iter_mut().zip(published).zip(&self.owners) {
            give(set, id);
            self.world.claims.insert(set.key.clone(), ownership.clone());
        }
        for (placed, id) in self.placed.iter_mut().zip(wanted) {
            give(&mut placed.set, id);
            let (set_id, routing) = (placed.set.key.set_id.clone(), placed.set.routing.clone());
            let wanted = Arc::make_mut(&mut placed.wanted);
            (wanted.key.set_id, wanted.routing) = (set_id, routing);
        }
        self
    }

    fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    fn world(mut self, change: impl FnOnce(&mut World)) -> Self {
        change(&mut self.world);
        self
    }

    fn managing(mut self, rtype: RecordType) -> Self {
        self.managed.push(rtype);
        self
    }

    fn plan(&self) -> NamePlan {
        let managed = self.managed.iter().copied().collect();
        let apex = name("example");
        let rules = Rules {
            policy: self.policy,
            managed: &managed,
            cname: self.cname,
            one_kind: self.one_kind,
            in_set: self.in_set,
            many_targets: true,
            apex: &apex,
        };
        plan(&self.placed, &self.published.iter().collect::<Vec<_>>(), &[], rules, &self.world)
    }

    /// Groups as lines, the changes of one group joined by ` & `, `!` behind counted deletes; then the reasons.
    fn gives(self, groups: &[&str], reasons: &[&str]) {
        let plan = self.plan();
        let shown: Vec<String> = plan
            .groups
            .iter()
            .map(|g| {
                let all: Vec<String> = g.group.changes().map(ToString::to_string).collect();
                format!("{}{}", all.join(" & "), if g.counted.is_empty() { "" } else { " !" })
            })
            .collect();
        assert_eq!(shown, groups);
        assert_eq!(plan.skips.iter().map(|s| s.why.reason()).collect::<Vec<_>>(), reasons);
    }
}

const MINE: &str = "me/service/ns/a";
const MINE_AS_RESOURCE: &str = "service/ns/a";

fn own(record: &str) -> String {
    format!("{record} = {MINE}")
}

#[test]
fn create_update_delete_and_nothing() {
    case(&[], &["a: x.example A 192.0.2.1"]).gives(&["+ x.example A 192.0.2.1"], &[]);
    case(&[&own("x.example A ttl=60 192.0.2.1")], &["a: x.example A 192.0.2.1"]).gives(&[], &[]);
    case(&[&own("x.example A 192.0.2.1")], &["a: x.example A 192.0.2.2"])
        .gives(&["~ x.example A 192.0.2.2 (was 192.0.2.1)"], &[]);
    case(&[&own("x.example A ttl=60 192.0.2.1")], &["a: x.example A ttl=30 192.0.2.1"])
        .gives(&["~ x.example 30 A 192.0.2.1 (was TTL 60)"], &[]);
    case(&[&own("x.example A 192.0.2.1")], &[]).gives(&["- x.example A 192.0.2.1 !"], &[]);
    case(&[], &["a: x.example A 192.0.2.1", "a: x.example AAAA 2001:db8::1"])
        .gives(&["+ x.example A 192.0.2.1", "+ x.example AAAA 2001:db8::1"], &[]);
    case(&[&own("x.example A 192.0.2.1"), &own("x.example AAAA 2001:db8::1")], &["a: x.example A 192.0.2.1"])
        .gives(&["- x.example AAAA 2001:db8::1 !"], &[]);
}

#[test]
fn what_is_not_ours_is_left_alone_and_reported() {
    let wanted = &["a: x.example A 192.0.2.9"];
    case(&["x.example A 192.0.2.1 = -"], wanted).gives(&[], &["ForeignRecord"]);
    case(&["x.example A 192.0.2.1 = other"], wanted).gives(&[], &["ForeignRecord"]);
    case(&["x.example A 192.0.2.1 = other"], &[]).gives(&[], &[]);
    case(&["x.example AAAA 2001:db8::1 = other"], wanted).gives(&[], &["ForeignRecord"]);
    case(&["x.example CNAME y.example = -"], wanted).gives(&[], &["ForeignRecord"]);
    case(&[], wanted)
        .world(|w| {
            w.claims.insert(set("x.example A 192.0.2.9").key, Ownership::Foreign(OwnerId::new("other").unwrap()));
        })
        .gives(&[], &["ForeignClaim"]);
    let plan = case(&["x.example A 192.0.2.1 = other"], wanted).plan();
    let note = plan.skips[0].notes().next().unwrap();
    assert!(note.message.contains("owner other"), "{}", note.message);
}

#[test]
fn unmanaged_types_are_invisible_but_beside_a_cname() {
    case(&["x.example TXT hello = -"], &["a: x.example A 192.0.2.1"]).gives(&["+ x.example A 192.0.2.1"], &[]);
    case(&["x.example TXT hello = -"], &["a: x.example CNAME y.example"]).gives(&[], &["CnameConflict"]);
    case(&["x.example TXT hello = -"], &["a: x.example A 192.0.2.1"])
        .managing(RecordType::Txt)
        .gives(&[], &["ForeignRecord"]);
}

#[test]
fn a_change_of_type_is_one_group() {
    case(&[&own("x.example CNAME y.example")], &["a: x.example A 192.0.2.1", "a: x.example AAAA 2001:db8::1"])
        .gives(&["- x.example CNAME y.example. & + x.example A 192.0.2.1 & + x.example AAAA 2001:db8::1"], &[]);
    let both = [&*own("x.example A 192.0.2.1"), &*own("x.example AAAA 2001:db8::1")];
    let cname = &["a: x.example CNAME y.example"];
    let swap = "- x.example A 192.0.2.1 & - x.example AAAA 2001:db8::1 & + x.example CNAME y.example.";
    case(&both, cname).gives(&[swap], &[]);
    case(&both, cname).policy(Policy::UpsertOnly).gives(&[swap], &[]);
    case(&both, cname).policy(Policy::CreateOnly).gives(&[], &["Policy"]);
    case(&both, cname).world(|w| w.doubtful = true).gives(&[], &["WaitingForEvidence"]);
}

/// An object whose addresses cannot come keeps its CNAME, whatever another one asks for in its place.
#[test]
fn a_cname_stays_where_what_its_object_asks_for_instead_cannot_come() {
    let wanted = &["a: x.example A 192.0.2.1", "b: x.example TXT hello"];
    let denied = |w: &mut World| {
        let key = set("x.example A 192.0.2.1").key;
        w.claims.insert(key, Ownership::Foreign(OwnerId::new("other").unwrap()));
    };
    let published = own("x.example CNAME y.example");
    case(&[&published], wanted)
        .managing(RecordType::Txt)
        .world(denied)
        .gives(&[], &["ForeignClaim", "RecordUnsupported"]);
    // An address that can come is enough; and who asks for nothing any more has nothing to keep.
    let both = &["a: x.example A 192.0.2.1", "a: x.example AAAA 2001:db8::1", "b: x.example TXT hello"];
    let swap = "- x.example CNAME y.example. & + x.example AAAA 2001:db8::1 & + x.example TXT \"hello\"";
    case(&[&published], both).managing(RecordType::Txt).world(denied).gives(&[swap], &["ForeignClaim"]);
    let gone = "- x.example CNAME y.example. & + x.example TXT \"hello\" !";
    case(&[&published], &wanted[1..]).managing(RecordType::Txt).gives(&[gone], &[]);
}

#[test]
fn addresses_of_one_object_change_families_as_one_group() {
    let (a, aaaa) = (own("x.example A 192.0.2.1"), ["a: x.example AAAA 2001:db8::1"]);
    case(&[&a], &aaaa).gives(&["+ x.example AAAA 2001:db8::1 & - x.example A 192.0.2.1"], &[]);
    case(&[&own("x.example AAAA 2001:db8::1")], &["a: x.example A 192.0.2.1"])
        .gives(&["+ x.example A 192.0.2.1 & - x.example AAAA 2001:db8::1"], &[]);
    // What may not go stays, and what may come comes.
    case(&[&a], &aaaa).policy(Policy::UpsertOnly).gives(&["+ x.example AAAA 2001:db8::1"], &["Policy"]);
    case(&[&a], &aaaa).world(|w| w.doubtful = true).gives(&["+ x.example AAAA 2001:db8::1"], &["WaitingForEvidence"]);
    // What cannot come takes nothing away.
    case(&[&a], &aaaa)
        .world(|w| {
            let key = set("x.example AAAA 2001:db8::1").key;
            w.claims.insert(key, Ownership::Foreign(OwnerId::new("other").unwrap()));
        })
        .gives(&[], &["ForeignClaim", "RecordUnsupported"]);
    // Another object's record is no replacement.
    case(&[&a], &["b: x.example AAAA 2001:db8::1"])
        .gives(&["+ x.example AAAA 2001:db8::1", "- x.example A 192.0.2.1 !"], &[]);
}

#[test]
fn a_delete_beside_an_update_or_another_type_is_counted() {
    let both = [&*own("x.example A 192.0.2.1"), &*own("x.example AAAA 2001:db8::1")];
    case(&both, &["a: x.example AAAA 2001:db8::2"])
        .gives(&["~ x.example AAAA 2001:db8::2 (was 2001:db8::1)", "- x.example A 192.0.2.1 !"], &[]);
    case(&[&own("x.example A 192.0.2.1")], &["a: x.example TXT hello"])
        .managing(RecordType::Txt)
        .gives(&["+ x.example TXT \"hello\"", "- x.example A 192.0.2.1 !"], &[]);
    case(&[&own("x.example CNAME y.example")], &["a: x.example TXT hello"])
        .managing(RecordType::Txt)
        .gives(&["- x.example CNAME y.example. & + x.example TXT \"hello\" !"], &[]);
    let beside = [&*own("x.example A 192.0.2.1"), &*own("x.example TXT hello")];
    let swap = "- x.example A 192.0.2.1 & - x.example TXT \"hello\" & + x.example CNAME y.example. !";
    let cname = ["a: x.example CNAME y.example"];
    case(&beside, &cname).managing(RecordType::Txt).gives(&[swap], &[]);
    case(&beside, &cname).managing(RecordType::Txt).policy(Policy::UpsertOnly).gives(&[], &["Policy"]);
}

/// Two processes of one owner may have put an MX and a CNAME at one name, where the service takes both: the MX is none of the CNAME's
/// business, and an address takes the place of that whether or not the MX may go.
#[test]
fn what_stays_beside_a_change_of_type_does_not_hold_it_up() {
    let swap = "- x.example CNAME y.example. & + x.example A 192.0.2.1";
    let change = |mx: &str| {
        let published = [own("x.example CNAME y.example"), format!("x.example MX 10_mail.test = me/service/ns/{mx}")];
        case(&published.each_ref().map(String::as_str), &["a: x.example A 192.0.2.1"]).managing(RecordType::Mx)
    };
    change("b!upsert-only").gives(&[swap], &["Policy"]);
    change("b").gives(&[swap, "- x.example MX 10 mail.test. !"], &[]);
}

#[test]
fn policies_narrow() {
    let (published, changed) = (own("x.example A 192.0.2.1"), ["a: x.example A 192.0.2.2"]);
    case(&[&published], &[]).policy(Policy::UpsertOnly).gives(&[], &["Policy"]);
    case(&[&published], &changed).policy(Policy::UpsertOnly).gives(&["~ x.example A 192.0.2.2 (was 192.0.2.1)"], &[]);
    case(&[&published], &changed).policy(Policy::CreateOnly).gives(&[], &["Policy"]);
    for (policy, updates) in [("create-only", false), ("frozen", false), ("upsert-only", true), ("retain", true)] {
        let plan = case(&[&published], &[&format!("a!{policy}: x.example A 192.0.2.2")]).plan();
        assert_eq!(plan.groups.len(), usize::from(updates), "{policy}");
    }
    case(&[], &["a!frozen: x.example A 192.0.2.2"]).gives(&[], &["Policy"]);
    for policy in ["upsert-only", "create-only", "frozen", "retain"] {
        case(&[&format!("x.example A 192.0.2.1 = {MINE}!{policy}")], &[]).gives(&[], &["Policy"]);
    }
    let retained = format!("x.example AAAA 2001:db8::1 = {MINE}!retain");
    case(&[&own("x.example A 192.0.2.1"), &retained], &["a!retain: x.example A 192.0.2.1"])
        .gives(&["- x.example AAAA 2001:db8::1 !"], &[]);
}

#[test]
fn the_policy_of_the_object_is_remembered_in_the_claim() {
    let plan = case(&[], &["a!retain: x.example A 192.0.2.1"]).plan();
    assert_eq!(plan.groups[0].group.steps[0].labels, [(Arc::from(POLICY_LABEL), Arc::from("retain"))]);
}

/// What this program notes in claims for itself is not for an object to say: by it values of ours would pass for those of others, or an
/// item of others for ours.
#[test]
fn an_object_says_nothing_that_is_noted_for_ourselves() {
    let mut case = case(&[], &["a: x.example A 192.0.2.1"]);
    let wanted = Arc::make_mut(&mut case.placed[0].wanted);
    let own = [POLICY_LABEL, FOREIGN_VALUE_LABEL, FORMER_OWNER_LABEL, crate::in_set::ITEM_LABEL];
    wanted.labels = own.into_iter().chain(["team"]).map(|key| (Arc::from(key), Arc::from("retain"))).collect();
    assert_eq!(case.plan().groups[0].group.steps[0].labels, [(Arc::from("team"), Arc::from("retain"))]);
}

#[test]
fn doubt_stops_removals_and_lets_additions_through() {
    let doubtful = |w: &mut World| w.doubtful = true;
    case(&[], &["a: x.example A 192.0.2.1"]).world(doubtful).gives(&["+ x.example A 192.0.2.1"], &[]);
    case(&[&own("x.example A 192.0.2.1")], &[]).world(doubtful).gives(&[], &["WaitingForEvidence"]);
    case(&[&own("x.example A 192.0.2.1")], &["a: x.example A 192.0.2.1 192.0.2.2"])
        .world(doubtful)
        .gives(&["~ x.example A 192.0.2.1 ; 192.0.2.2 (was 192.0.2.1)"], &[]);
    case(&[&own("x.example A 192.0.2.1")], &["a: x.example A 192.0.2.2"])
        .world(doubtful)
        .gives(&["~ x.example A 192.0.2.1 ; 192.0.2.2 (was 192.0.2.1)"], &["WaitingForEvidence"]);
    case(&[&own("x.example A 192.0.2.1 192.0.2.2")], &["a: x.example A 192.0.2.1"])
        .world(doubtful)
        .gives(&[], &["WaitingForEvidence"]);
    case(&[&own("x.example CNAME y.example")], &["a: x.example CNAME z.example"])
        .world(doubtful)
        .gives(&[], &["WaitingForEvidence"]);
}

#[test]
fn a_change_of_holder_needs_evidence_and_is_an_update() {
    let published = "x.example A 192.0.2.1 = me/service/ns/gone";
    let wanted = ["b: x.example A 192.0.2.7"];
    case(&[published], &wanted).gives(&["~ x.example A 192.0.2.7 (was 192.0.2.1)"], &[]);
    let plan = case(&[published], &wanted).plan();
    assert_eq!(plan.groups[0].group.steps[0].resource.as_deref(), Some("service/ns/b"));
    let plan = case(&[published], &wanted).world(|w| w.doubtful = true).plan();
    assert_eq!(plan.groups[0].group.steps[0].resource.as_deref(), Some("service/ns/gone"), "joined, not taken over");
    assert_eq!(plan.skips.len(), 1);
}

#[test]
fn a_holder_without_targets_keeps_its_record() {
    let waiting = |w: &mut World| w.pending = vec!["service/ns/a".to_owned()];
    case(&[&own("x.example A 192.0.2.1")], &[]).world(waiting).gives(&[], &["PendingTargets"]);
    case(&[&own("x.example A 192.0.2.1")], &["b: x.example A 192.0.2.7"])
        .world(waiting)
        .gives(&[], &["PendingTargets", "PendingTargets"]);
    case(&[&own("x.example A 192.0.2.1")], &["b: x.example CNAME y.example"])
        .world(waiting)
        .gives(&[], &["PendingTargets", "PendingTargets"]);
    case(&[&own("x.example A 192.0.2.1")], &["a: x.example A 192.0.2.7"])
        .world(waiting)
        .gives(&["~ x.example A 192.0.2.7 (was 192.0.2.1)"], &[]);
}

/// Where a provider lets both stand, the one that waits costs the other nothing.
#[test]
fn what_stands_beside_a_record_that_waits_is_not_in_its_way() {
    case(&[&own("x.example A 192.0.2.1"), &own("x.example CNAME y.example")], &["a: x.example A 192.0.2.1"])
        .world(|w| w.pending = vec!["service/ns/a".to_owned()])
        .gives(&[], &["PendingTargets"]);
}

/// Of what an object asks for in place of what it has something may wait for another record: until then it keeps what it has.
#[test]
fn what_waits_for_another_record_takes_nothing_of_its_own_away() {
    let published = [&own("x.example A 192.0.2.1")[..], "x.example AAAA 2001:db8::1 = me/service/ns/b"];
    let cname = ["b: x.example CNAME y.example"];
    case(&published, &cname)
        .world(|w| w.pending = vec!["service/ns/a".to_owned()])
        .gives(&[], &["PendingTargets", "PendingTargets", "RecordUnsupported"]);
    // The same where the other one stays since what its object asks for cannot be written.
    case(&published, &cname)
        .world(|w| w.unmet.push((MINE_AS_RESOURCE, set("x.example A 192.0.2.1").key)))
        .gives(&[], &["RecordUnsupported", "RecordUnsupported", "RecordUnsupported"]);
}

#[test]
fn a_wish_that_cannot_be_written_keeps_what_stands_in_its_place() {
    let unmet = |who, record: &str| {
        let key = set(record).key;
        move |w: &mut World| w.unmet.push((who, key))
    };
    let published = own("x.example A 192.0.2.1");
    // Under the very key, whoever asks.
    case(&[&published], &[]).world(unmet("service/ns/b", "x.example A 192.0.2.2")).gives(&[], &["RecordUnsupported"]);
    // Where it would take the place of what its own resource holds.
    let cname = "x.example CNAME y.example";
    case(&[&published], &[]).world(unmet(MINE_AS_RESOURCE, cname)).gives(&[], &["RecordUnsupported"]);
    case(&[&published], &[]).world(unmet("service/ns/b", cname)).gives(&["- x.example A 192.0.2.1 !"], &[]);
    case(&[&published], &[])
        .world(unmet(MINE_AS_RESOURCE, "x.example AAAA 2001:db8::1"))
        .gives(&[], &["RecordUnsupported"]);
    case(&[&published], &[])
        .world(unmet("service/ns/b", "x.example AAAA 2001:db8::1"))
        .gives(&["- x.example A 192.0.2.1 !"], &[]);
    // What can be written goes on beside it, but for what the kept record excludes.
    case(&[&published], &["a: x.example AAAA 2001:db8::1"])
        .world(unmet(MINE_AS_RESOURCE, "x.example A 192.0.2.2"))
        .gives(&["+ x.example AAAA 2001:db8::1"], &["RecordUnsupported"]);
    case(&[&published], &["b: x.example CNAME z.example"])
        .world(unmet(MINE_AS_RESOURCE, "x.example A 192.0.2.2"))
        .gives(&[], &["RecordUnsupported", "RecordUnsupported"]);
    case(&["x.example A 192.0.2.1 = other"], &[]).world(unmet(MINE_AS_RESOURCE, cname)).gives(&[], &[]);
}

#[test]
fn proof_of_deletion_and_replacement_are_not_counted() {
    case(&[&own("x.example A 192.0.2.1")], &[]).world(|w| w.proven = true).gives(&["- x.example A 192.0.2.1"], &[]);
}

#[test]
fn apex_delegations_are_never_deleted() {
    let mut case = case(&[], &[]).managing(RecordType::Ns);
    let ns = set("example NS ns.example");
    case.world.claims.insert(ns.key.clone(), Ownership::Ours(None));
    case.published.push(ns);
    case.gives(&[], &[]);
}

/// A foreign address keeps a CNAME out, so that the object's former address stays.
#[test]
fn a_claim_is_moved_where_what_was_to_replace_its_record_cannot_come() {
    let elsewhere = |world: &mut World| {
        for ownership in world.claims.values_mut() {
            if let Ownership::Ours(Some(claim)) = ownership {
                claim.current = false;
            }
        }
    };
    let published = ["w.example AAAA 2001:db8::1 = me/service/ns/a", "w.example A 192.0.2.1 = -"];
    let plan = case(&published, &["a: w.example CNAME t.example"]).world(elsewhere).plan();
    assert!(plan.groups.is_empty(), "{:?}", plan.groups);
    assert_eq!(plan.upgrades.len(), 1);
}

#[test]
fn a_claim_is_moved_where_its_record_may_be_updated() {
    for (policy, wanted, moved) in [
        (Policy::Sync, "a: w.example A 192.0.2.1", true),
        (Policy::UpsertOnly, "a: w.example A 192.0.2.1", true),
        (Policy::CreateOnly, "a: w.example A 192.0.2.1", false),
        (Policy::Sync, "a!frozen: w.example A 192.0.2.1", false),
        (Policy::Sync, "a!retain: w.example A 192.0.2.1", true),
    ] {
        let elsewhere = |world: &mut World| {
            for ownership in world.claims.values_mut() {
                if let Ownership::Ours(Some(claim)) = ownership {
                    claim.current = false;
                }
            }
        };
        let plan = case(&["w.example A 192.0.2.1 = me/service/ns/a"], &[wanted]).policy(policy).world(elsewhere).plan();
        assert!(plan.groups.is_empty(), "the record stays");
        assert_eq!(plan.upgrades.len(), usize::from(moved), "{policy:?} {wanted}");
    }
}

/// What `Kind ns/who` asks for under the other prefix; `shared` as a member of the name.
fn other_prefix(who: &str, record: &str, shared: bool) -> OtherPrefixRequest {
    let sharing = if shared { Sharing::Union } else { Sharing::Holder };
    let endpoint = crate::endpoint::Endpoint { sharing, ..endpoint("Service", who, record) };
    let (prefix, object) = (Arc::from("other.example/"), endpoint.origin.object.clone());
    let other = OtherPrefix { prefix, endpoints: Vec::new(), pending: [].into(), object };
    OtherPrefixRequest::of_endpoint(&other, &endpoint)
}

#[test]
fn what_the_other_prefix_asks_for_stays() {
    let kept = &["KeptForOtherPrefix"][..];
    let with = |published: &str, wanted: &[&str], request: OtherPrefixRequest| {
        case(&[published], wanted).world(|w| w.other_prefix.push(request))
    };
    let (x1, x2) = ("x.example A 192.0.2.1", "x.example A 192.0.2.2");
    let own = own(x1);
    with(&own, &[], other_prefix("a", x1, false)).gives(&[], kept);
    // Its targets may have changed meanwhile, and its type with them.
    with(&own, &[], other_prefix("a", x2, false)).gives(&[], kept);
    with(&own, &[], other_prefix("a", "x.example CNAME lb.example", false)).gives(&[], kept);
    // Of several objects a claim names but one; those of other namespaces have no say.
    with(&own, &[], other_prefix("b", x1, false)).gives(&[], kept);
    with("x.example A 192.0.2.1 = me/service/elsewhere/a", &[], other_prefix("b", x1, false))
        .gives(&["- x.example A 192.0.2.1 !"], &[]);
    // Another object waits, and is reported with the one that asks.
    with(&own, &["z: x.example A 192.0.2.9"], other_prefix("a", x1, false))
        .gives(&[], &["KeptForOtherPrefix", "KeptForOtherPrefix"]);
    // The holder asks under a prefix in force too: it follows, unless what it has comes from the other one.
    with(&own, &["a: x.example A 192.0.2.3"], other_prefix("a", x2, false))
        .gives(&["~ x.example A 192.0.2.3 (was 192.0.2.1)"], &[]);
    with(&own, &["a: x.example A 192.0.2.3"], other_prefix("a", x1, false)).gives(&[], kept);
    with(&own, &["a: x.example A 192.0.2.3"], other_prefix("b", x1, false))
        .gives(&["~ x.example A 192.0.2.3 (was 192.0.2.1)"], &[]);
    // A member stays in its name, and others come beside it.
    with(&own, &["a: x.example A 192.0.2.3"], other_prefix("b", x1, true))
        .gives(&["~ x.example A 192.0.2.1 ; 192.0.2.3 (was 192.0.2.1)"], kept);
}

#[test]
fn sets_of_another_kind_of_routing_are_replaced_together() {
    let simple = "x.example A 192.0.2.1 = me/service/ns/a";
    let wanted = ["a: x.example A 192.0.2.1", "b: x.example A 192.0.2.2"];
    case(&[simple], &wanted)
        .routed(&[""], &["blue", "green"])
        .gives(&["- x.example A 192.0.2.1 & + x.example A (blue) 192.0.2.1 & + x.example A (green) 192.0.2.2"], &[]);
    let published = ["x.example A 192.0.2.1 = me/service/ns/a", "x.example A 192.0.2.2 = me/service/ns/b"];
    case(&published, &["a: x.example A 192.0.2.1"])
        .routed(&["blue", "green"], &[""])
        .gives(&["- x.example A (blue) 192.0.2.1 & - x.example A (green) 192.0.2.2 & + x.example A 192.0.2.1 !"], &[]);
    // A CNAME without an identifier and addresses with one cannot stand together either.
    case(&["x.example CNAME y.test = me/service/ns/a"], &["a: x.example A 192.0.2.1"])
        .routed(&[""], &["blue"])
        .gives(&["- x.example CNAME y.test. & + x.example A (blue) 192.0.2.1"], &[]);
}

/// A CNAME with an identifier, and an MX without: the MX goes without a replacement, and so it is a delete like any other.
#[test]
fn what_no_set_of_another_kind_replaces_is_counted() {
    let published = ["x.example A 192.0.2.1 = me/service/ns/a", "x.example MX 10_mail.test = me/service/ns/a"];
    let swap = "- x.example A 192.0.2.1 & - x.example MX 10 mail.test. & + x.example CNAME (blue) y.test. !";
    let change =
        || case(&published, &["a: x.example CNAME y.test"]).routed(&["", ""], &["blue"]).managing(RecordType::Mx);
    change().gives(&[swap], &[]);
    change().policy(Policy::UpsertOnly).gives(&[], &["Policy"]);
}

/// One set takes the place of one: what other objects had besides goes without a replacement.
#[test]
fn a_set_of_another_kind_replaces_one_of_those_that_stood() {
    let published: Vec<String> = ["a", "b", "c"]
        .iter()
        .zip(1..)
        .map(|(who, n)| format!("x.example A 192.0.2.{n} = me/service/ns/{who}"))
        .collect();
    let published: Vec<&str> = published.iter().map(String::as_str).collect();
    let counted = |wanted: &str, proven: bool| {
        let case = case(&published, &[wanted]).routed(&["one", "two", "three"], &[""]);
        let plan = case.world(|w| w.proven = proven).plan();
        let [group] = plan.groups.as_slice() else { panic!("one group expected, got {:?}", plan.groups) };
        let ids = group.counted.iter().filter_map(|key| key.set_id.as_ref());
        ids.map(|id| id.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(counted("b: x.example A 192.0.2.2", false), ["one", "three"], "b has another one instead");
    assert_eq!(counted("z: x.example A 192.0.2.9", false), ["two", "three"], "one of them is replaced");
    assert!(counted("z: x.example A 192.0.2.9", true).is_empty(), "all were seen to go");
}

#[test]
fn sets_of_another_kind_stay_where_one_of_them_may_not_go() {
    let wanted = ["a: x.example A 192.0.2.1", "b: x.example A 192.0.2.2"];
    let simple = "x.example A 192.0.2.1 = me/service/ns/a";
    let change = |published: &str| case(&[published], &wanted).routed(&[""], &["blue", "green"]);
    change("x.example A 192.0.2.9 = other").gives(&[], &["ForeignRecord", "ForeignRecord"]);
    change("x.example A 192.0.2.9 = -").gives(&[], &["ForeignRecord", "ForeignRecord"]);
    change(simple).policy(Policy::CreateOnly).gives(&[], &["Policy", "Policy"]);
    change("x.example A 192.0.2.1 = me/service/ns/z").policy(Policy::UpsertOnly).gives(&[], &["Policy", "Policy"]);
    change(simple).world(|w| w.doubtful = true).gives(&[], &["WaitingForEvidence", "WaitingForEvidence"]);
    let gone = "x.example A 192.0.2.1 = me/service/ns/z";
    change(gone).world(|w| w.pending = vec!["service/ns/z".into()]).gives(&[], &["PendingTargets", "PendingTargets"]);
    // What it had is kept while it waits for targets, even if it asks for something else there, too.
    change(simple).world(|w| w.pending = vec!["service/ns/a".into()]).gives(&[], &["PendingTargets", "PendingTargets"]);
    // Sets of the same kind mind nobody: another owner's stands beside ours.
    case(&["x.example A 192.0.2.9 = other"], &["a: x.example A 192.0.2.1"])
        .routed(&["red"], &["blue"])
        .gives(&["+ x.example A (blue) 192.0.2.1"], &[]);
}

/// A CNAME gives way to a set under another identifier; what its own object asks for in its place comes in the same call.
#[test]
fn what_replaces_a_cname_comes_with_the_set_that_bars_it() {
    let wanted = ["a: x.example AAAA 2001:db8::1", "b: x.example MX 10_mail.test"];
    let plan = |published: &str, policy: Policy| {
        case(&[published], &wanted).routed(&[""], &["", "blue"]).managing(RecordType::Mx).policy(policy)
    };
    let group = "- x.example CNAME y.test. & + x.example AAAA 2001:db8::1 & + x.example MX (blue) 10 mail.test.";
    plan("x.example CNAME y.test = me/service/ns/a", Policy::Sync).gives(&[group], &[]);
    plan("x.example CNAME y.test = other", Policy::Sync).gives(&[], &["ForeignRecord", "ForeignRecord"]);
    plan("x.example CNAME y.test = me/service/ns/a", Policy::CreateOnly).gives(&[], &["Policy", "Policy"]);
}

/// What an object had is not taken away for something that cannot come: a set under another identifier is in its way.
#[test]
fn nothing_goes_for_a_cname_that_a_set_under_another_identifier_bars() {
    let published = ["x.example A 192.0.2.1 = me/service/ns/a", "x.example MX 10_mail.test = other"];
    let beside = || case(&published, &["a: x.example CNAME y.test"]).routed(&["", "blue"], &[""]);
    beside().managing(RecordType::Mx).gives(&[], &["ForeignRecord"]);
    beside().gives(&[], &["CnameConflict"]);
    // Where identifiers do not mind each other, so does what is not managed.
    let free = Case { one_kind: false, ..beside() };
    free.gives(&["- x.example A 192.0.2.1 & + x.example CNAME y.test."], &[]);
}

/// An object asks for an address of the other family, without the identifiers that it had: what it had goes with what comes, or stays.
#[test]
fn addresses_under_other_identifiers_go_only_with_what_comes_in_their_place() {
    let weighted = ["x.example AAAA 2001:db8::1 = me/service/ns/a", "x.example AAAA 2001:db8::2 = me/service/ns/a"];
    let simple = ["a: x.example A 192.0.2.1"];
    let change = |more: &[&'static str], wanted: &[&str]| {
        case(&[&weighted[..], more].concat(), wanted).routed(&["blue", "green", ""], &[""]).managing(RecordType::Mx)
    };
    let gone = "- x.example AAAA (blue) 2001:db8::1 & - x.example AAAA (green) 2001:db8::2";
    change(&[], &simple).gives(&[&format!("+ x.example A 192.0.2.1 & {gone}")], &[]);
    let mail = "x.example MX 10_mail.test = other";
    change(&[mail], &simple).gives(&[], &["ForeignRecord", "RecordUnsupported", "RecordUnsupported"]);
    change(&[], &simple).policy(Policy::UpsertOnly).gives(&["+ x.example A 192.0.2.1"], &["Policy", "Policy"]);
    change(&[], &simple)
        .world(|w| w.doubtful = true)
        .gives(&["+ x.example A 192.0.2.1"], &["WaitingForEvidence", "WaitingForEvidence"]);
    // What another object asks for replaces nothing, nor does what stands already.
    let deletes = gone.replace(" & ", " !\n") + " !";
    let deletes: Vec<&str> = deletes.lines().collect();
    let with_other = [&["+ x.example A 192.0.2.1"], &*deletes].concat();
    change(&[], &["b: x.example A 192.0.2.1"]).gives(&with_other, &[]);
    change(&["x.example A 192.0.2.1 = me/service/ns/a"], &simple).gives(&deletes, &[]);
    // Where identifiers do not mind each other, each row is planned by itself.
    let free = Case { one_kind: false, ..change(&[mail], &simple) };
    free.gives(&deletes, &["ForeignRecord"]);
}

/// What stays because of a set that is not ours may stand for long, and where its claim stood formerly is not looked for ever.
#[test]
fn claims_of_sets_that_stay_beside_one_that_is_not_ours_move() {
    let published = ["x.example A 192.0.2.1 = me/service/ns/a", "x.example A 192.0.2.9 = -"];
    let mut case = case(&published, &["b: x.example CNAME y.test"]).routed(&["blue", "green"], &["red"]);
    let mut former = ours("service/ns/a");
    if let Ownership::Ours(Some(claim)) = &mut former {
        claim.current = false;
    }
    let key = case.published[0].key.clone();
    case.owners[0] = former.clone();
    case.world.claims.insert(key.clone(), former);
    let plan = case.plan();
    assert_eq!((plan.groups.len(), plan.upgrades), (0, vec![key]));
}

#[test]
fn a_flattened_cname_stands_beside_all_but_addresses() {
    let mx = "example MX 10_mail.test = -";
    let flattened = CnameRules { alone: true, flattened: true };
    let apex = |cname| Case { cname, ..case(&[mx], &["a: example CNAME lb.test"]) };
    apex(CnameRules::STRICT).gives(&[], &["CnameConflict"]);
    apex(flattened).gives(&["+ example CNAME lb.test."], &[]);
    let address = case(&["example A 192.0.2.1 = me/service/ns/a"], &["a: example CNAME lb.test"]);
    Case { cname: flattened, ..address }.gives(&["- example A 192.0.2.1 & + example CNAME lb.test."], &[]);
}

/// Values of others beside ours stay, whatever is wanted of ours.
#[test]
fn values_of_others_stay() {
    let shared = "x.example A 192.0.2.1 192.0.2.9 = me/service/ns/a but 192.0.2.9";
    let wants = |record: &'static str| [record];
    // Ours moves, more of ours comes, ours is as wanted, and ours goes.
    case(&[shared], &wants("a: x.example A 192.0.2.2"))
        .gives(&["~ x.example A 192.0.2.2 ; 192.0.2.9 (was 192.0.2.1 ; 192.0.2.9)"], &[]);
    case(&[shared], &wants("a: x.example A 192.0.2.1 192.0.2.3"))
        .gives(&["~ x.example A 192.0.2.1 ; 192.0.2.3 ; 192.0.2.9 (was 192.0.2.1 ; 192.0.2.9)"], &[]);
    case(&[shared], &wants("a: x.example A 192.0.2.1")).gives(&[], &[]);
    case(&[shared], &[]).gives(&["~ x.example A 192.0.2.9 (was 192.0.2.1 ; 192.0.2.9)"], &[]);
    // What would take the place of all waits: one of them is not ours.
    case(&[shared], &wants("a: x.example CNAME y.example"))
        .gives(&["~ x.example A 192.0.2.9 (was 192.0.2.1 ; 192.0.2.9)"], &["ForeignRecord"]);
    // The values of others are wanted as well: then they can be had.
    let both = case(&[shared], &wants("a: x.example A 192.0.2.1 192.0.2.9"));
    assert_eq!(both.plan().adoptable.len(), 1);
    both.gives(&[], &[]);
    case(&[shared], &[]).policy(Policy::UpsertOnly).gives(&[], &["Policy"]);
}

/// A placeholder is one of the known values alone.
#[test]
fn what_holds_a_place_is_distinguished_from_what_is_owned() {
    let placeholders = [crate::RData::A(std::net::Ipv4Addr::new(203, 0, 113, 123))];
    for (stands, expected) in [
        ("x.example A 203.0.113.123 = -", true),
        ("x.example A 203.0.113.124 = -", false),
        ("x.example A 203.0.113.1 203.0.113.123 = -", false),
    ] {
        let adoptable = case(&[stands], &["a: x.example A 192.0.2.1"]).plan().adoptable;
        assert_eq!((adoptable.len(), adoptable[0].is_placeholder(&placeholders)), (1, expected), "{stands}");
        assert!(!adoptable[0].is_placeholder(&[]), "{stands}");
    }
}
