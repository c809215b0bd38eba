//! The bugs, one by one. Data alone: what each is called, and how the program reads with it.
//!
//! `PLANTED` in a replacement is true where the bug is planted; without it the program has to be what it was.

/// Where the claims are in the histories that are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claims {
    Texts,
    Objects,
    Table,
}

impl Claims {
    /// The word of the simulator's `--claims`.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Texts => "zones",
            Self::Objects => "objects",
            Self::Table => "table",
        }
    }

    /// What is added to a bug's name in the table of the docs.
    pub(super) fn added(self) -> &'static str {
        match self {
            Self::Texts => "",
            Self::Objects => " (claims in objects)",
            Self::Table => " (claims in a table)",
        }
    }
}

/// A text that stands once in a file, and what stands there with the bug.
#[derive(Debug)]
pub(super) struct Edit {
    /// From the root of the repository.
    pub(super) file: &'static str,
    pub(super) text: &'static str,
    pub(super) with: &'static str,
}

/// A bug.
#[derive(Debug)]
pub(super) struct Bug {
    pub(super) name: &'static str,
    pub(super) claims: &'static [Claims],
    pub(super) edits: &'static [Edit],
}

const TEXTS: &[Claims] = &[Claims::Texts];

/// Every bug, in the order of the table in `docs/simulator.md`.
pub(super) const BUGS: &[Bug] = &[
    Bug {
        name: "the brake never holds",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/guard/mod.rs",
            text: "if !brake.enabled || counted == 0 {",
            with: "if PLANTED || !brake.enabled || counted == 0 {",
        }],
    },
    Bug {
        name: "the brake's window forgets",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/guard/window.rs",
            text: "done + self.lost.iter().filter(|(key, at)| within(at) && !wanted.contains(*key)).count()",
            with: "if PLANTED { 0 } else { done + self.lost.iter().filter(|(key, at)| within(at) && !wanted.contains(*key)).count() }",
        }],
    },
    Bug {
        name: "a restart forgets the window",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/state/document.rs",
            text: "            zone.window.taken_over(now);\n",
            with: "            zone.window.taken_over(now);\n            if PLANTED {\n                zone.window = Window::default();\n            }\n",
        }],
    },
    Bug {
        name: "deletes are not written down before they are sent",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/brake.rs",
            text: "    if !verdict.reserved.is_empty()\n",
            with: "    if !PLANTED && !verdict.reserved.is_empty()\n",
        }],
    },
    Bug {
        name: "a delete without an answer is not written down",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/write_through.rs",
            text: "            if !reserved.is_empty() {\n                worker.context.state.zone(&zone, |state| state.window.may_have_deleted(reserved.keys(), now));",
            with: "            if PLANTED {\n                deletes::give_back(&worker.context.state, &zone, reserved);\n            } else if !reserved.is_empty() {\n                worker.context.state.zone(&zone, |state| state.window.may_have_deleted(reserved.keys(), now));",
        }],
    },
    Bug {
        name: "the floor never holds",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/guard/mod.rs",
            text: "let in_force = brake.enabled && brake.owner_floor > 0",
            with: "let in_force = !PLANTED && brake.enabled && brake.owner_floor > 0",
        }],
    },
    Bug {
        name: "any approval covers everything",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/guard/plan.rs",
            text: "        self.until > now && self.open.get(key)",
            with: "        PLANTED && self.until > now || self.until > now && self.open.get(key)",
        }],
    },
    Bug {
        name: "an approval is never used up",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/guard/plan.rs",
            text: "let covered = self.open.remove(key).is_some();",
            with: "let covered = if PLANTED { self.open.contains_key(key) } else { self.open.remove(key).is_some() };",
        }],
    },
    Bug {
        name: "a relist counts as a DELETE event",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/desired.rs",
            text: "self.gone(&claimant, tombstone.then_some(now), taken)",
            with: "self.gone(&claimant, (PLANTED || tombstone).then_some(now), taken)",
        }],
    },
    Bug {
        name: "no layer for the dry run",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/layer/dry_run.rs",
            text: "    async fn apply(&self, _: &Zone, groups: &[Group]) -> Vec<Outcome> {\n",
            with: "    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {\n        if PLANTED {\n            return self.inner.apply(zone, groups).await;\n        }\n",
        }],
    },
    Bug {
        name: "deletes need no evidence",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/plan/row.rs",
            text: "        (!doubt.is_empty()).then_some(Why::Doubt(doubt))",
            with: "        (!PLANTED && !doubt.is_empty()).then_some(Why::Doubt(doubt))",
        }],
    },
    Bug {
        name: "an update takes targets away in doubt",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/plan/row.rs",
            text: "let removes = !wanted.data.contains(&published.data);",
            with: "let removes = !PLANTED && !wanted.data.contains(&published.data);",
        }],
    },
    Bug {
        name: "a pending name is not kept",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/plan/kept.rs",
            text: "let pending = self.facts.pending(resource).map(Why::Pending);",
            with: "let pending = self.facts.pending(resource).map(Why::Pending).filter(|_| !PLANTED);",
        }],
    },
    Bug {
        name: "`retain` is ignored",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/plan.rs",
            text: "let retained = object == Some(ObjectPolicy::Retain)",
            with: "let retained = !PLANTED && object == Some(ObjectPolicy::Retain)",
        }],
    },
    Bug {
        name: "claims without intents",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/layer/course.rs",
            text: "if let Some(middle) = interim(group, from.as_ref(), to.as_ref()) {",
            with: "if let Some(middle) = interim(group, from.as_ref(), to.as_ref()).filter(|_| !PLANTED) {",
        }],
    },
    Bug {
        name: "an intent speaks for any content",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/intent.rs",
            text: "        self.records.contains(&Announced::of(record))",
            with: "        let same = |one: &Announced| one.name == record.key.name && one.rtype == record.key.rtype;\n        PLANTED && self.records.iter().any(same) || self.records.contains(&Announced::of(record))",
        }],
    },
    Bug {
        name: "an intent is written without looking what stands",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/layer/course.rs",
            text: "        group.records().filter_map(condition).collect()",
            with: "        group.records().filter(|_| !PLANTED).filter_map(condition).collect()",
        }],
    },
    Bug {
        name: "an intent becomes a claim again over what somebody changed",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/layer/under_way.rs",
            text: "somebody && (write.lowers_claim(&doubted) ||",
            with: "somebody && (!PLANTED && write.lowers_claim(&doubted) ||",
        }],
    },
    Bug {
        name: "intents of other processes are swept at once",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/stale_intents.rs",
            text: "if void.since + REST <= now {",
            with: "if PLANTED || void.since + REST <= now {",
        }],
    },
    Bug {
        name: "an update does not demand the claim",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/registry/src/txt/decorate.rs",
            text: "        self.requires.push(standing.clone());\n        Ok(())",
            with: "        if !PLANTED {\n            self.requires.push(standing.clone());\n        }\n        Ok(())",
        }],
    },
    Bug {
        name: "a disputed claim counts as ours",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/claim.rs",
            text: "        _ => Ownership::Disputed(owners),",
            with: "        _ if PLANTED && owners.contains(owner) => {\n            let ours = deciding.iter().find(|claim| claim.owner == *owner);\n            Ownership::Ours(ours.map(|claim| (*claim).clone()))\n        }\n        _ => Ownership::Disputed(owners),",
        }],
    },
    Bug {
        name: "the claim stays when the record goes",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/registry/src/txt/decorate.rs",
            text: "        for site in self.own_sites(key) {\n",
            with: "        for site in self.own_sites(key).filter(|_| !PLANTED) {\n",
        }],
    },
    Bug {
        name: "claims at their former place stay when they move",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/registry/src/txt/upgrade.rs",
            text: "    leftovers(view, key).into_iter().try_for_each",
            with: "    leftovers(view, key).into_iter().filter(|_| !PLANTED).try_for_each",
        }],
    },
    Bug {
        name: "foreign texts of a claim set are dropped",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/registry/src/txt/rewrite.rs",
            text: "    set.data.as_records().iter().filter(|data| !is_ours(data)).cloned().collect()",
            with: "    set.data.as_records().iter().filter(|data| !PLANTED && !is_ours(data)).cloned().collect()",
        }],
    },
    Bug {
        name: "records are planned beside foreign ones",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/plan/row.rs",
            text: "self.published.iter().find(|(_, ownership)| !ownership.is_ours())",
            with: "self.published.iter().find(|(_, ownership)| !PLANTED && !ownership.is_ours())",
        }],
    },
    Bug {
        name: "an unclaimed record is taken for ours by the plan",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/plan.rs",
            text: "managed.into_iter().map(|set| (set, facts.ownership(&set.key))).collect();",
            with: "managed.into_iter().map(|set| (set, facts.ownership(&set.key))).collect();\n    for (_, ownership) in &mut managed {\n        if PLANTED && *ownership == Ownership::Unclaimed {\n            *ownership = Ownership::Ours(None);\n        }\n    }",
        }],
    },
    Bug {
        name: "fights never begin",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/flap.rs",
            text: "let begins = track.changes.len() >= CHANGES;",
            with: "let begins = !PLANTED && track.changes.len() >= CHANGES;",
        }],
    },
    Bug {
        name: "no read before a write",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/round.rs",
            text: "let first = self.capability.preconditions.read_first();",
            with: "let first = !PLANTED && self.capability.preconditions.read_first();",
        }],
    },
    Bug {
        name: "nothing is read back where a create adds",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/layer/staged.rs",
            text: "            if additive {\n",
            with: "            if additive && !PLANTED {\n",
        }],
    },
    Bug {
        name: "a staged write that fails is not taken back",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/layer/staged.rs",
            text: "            other if self.go_back(zone, course, is_conflict(&other)).await => other,",
            with: "            other if PLANTED || self.go_back(zone, course, is_conflict(&other)).await => other,",
        }],
    },
    Bug {
        name: "a delta's removals are passed over",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/view.rs",
            text: "        for record in step.removed {\n",
            with: "        for record in step.removed.into_iter().filter(|_| !PLANTED) {\n",
        }],
    },
    Bug {
        name: "a listing that is older than what was written counts",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/view.rs",
            text: "            if !self.written.contains_key(&name) {\n                self.replace(name, slims, changed);",
            with: "            if PLANTED || !self.written.contains_key(&name) {\n                self.replace(name, slims, changed);",
        }],
    },
    Bug {
        name: "no room is made for claims of another kind of routing",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/claim_room.rs",
            text: "    if !capability.one_kind ||",
            with: "    if PLANTED || !capability.one_kind ||",
        }],
    },
    Bug {
        name: "any claim goes to make room",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/engine/src/claim_room.rs",
            text: "    let (registry, zone) = (&worker.instance.registry, &worker.handle.zone);\n",
            with: "    if PLANTED {\n        return Some(Step::claim(Change::Delete { from: set.clone() }));\n    }\n    let (registry, zone) = (&worker.instance.registry, &worker.handle.zone);\n",
        }],
    },
    Bug {
        name: "sets of another kind of routing give way though one is not ours, and a delete needs no claim",
        claims: TEXTS,
        edits: &[
            Edit {
                file: "crates/core/src/plan/routing.rs",
                text: "old.iter().find(|(_, ownership)| !ownership.is_ours())",
                with: "old.iter().find(|(_, ownership)| !PLANTED && !ownership.is_ours())",
            },
            Edit {
                file: "crates/registry/src/txt/decorate.rs",
                text: "        if !ownership.is_ours() {\n",
                with: "        if !PLANTED && !ownership.is_ours() {\n",
            },
        ],
    },
    Bug {
        name: "what no set of another kind replaces is not counted",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/plan/routing.rs",
            text: "others.into_iter().filter(|(set, _)| !has_room(set.key.rtype)).collect()",
            with: "others.into_iter().filter(|(set, _)| !PLANTED && !has_room(set.key.rtype)).collect()",
        }],
    },
    Bug {
        name: "one set of another kind of routing takes the place of any number",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/plan/routing.rs",
            text: "        *left = left.saturating_sub(1);\n",
            with: "        *left = if PLANTED { *left } else { left.saturating_sub(1) };\n",
        }],
    },
    Bug {
        name: "sets of another kind of routing give way in doubt",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/plan/routing.rs",
            text: "let doubt = (!doubt.is_empty()).then_some(Why::Doubt(doubt));",
            with: "let doubt = (!PLANTED && !doubt.is_empty()).then_some(Why::Doubt(doubt));",
        }],
    },
    Bug {
        name: "an A and the AAAA which replaces it are two groups",
        claims: TEXTS,
        edits: &[Edit {
            file: "crates/core/src/plan/row.rs",
            text: "            .partition(|(set, ownership)| creates.iter().any(|placed| is_replaced(set, ownership, placed)));",
            with: "            .partition(|(set, ownership)| !PLANTED && creates.iter().any(|placed| is_replaced(set, ownership, placed)));",
        }],
    },
    Bug {
        name: "a claim of the old format speaks for an AAAA too",
        claims: TEXTS,
        edits: &[
            Edit {
                file: "crates/registry/src/txt/view.rs",
                text: "let reads = |old: &DnsName| key.rtype != RecordType::Aaaa && may_be_old(",
                with: "let reads = |old: &DnsName| (PLANTED || key.rtype != RecordType::Aaaa) && may_be_old(",
            },
            Edit {
                file: "crates/registry/src/txt/view.rs",
                text: "    TYPES.into_iter().filter(|rtype| *rtype != RecordType::Aaaa)\n",
                with: "    TYPES.into_iter().filter(|rtype| PLANTED || *rtype != RecordType::Aaaa)\n",
            },
        ],
    },
    Bug {
        name: "an entry that announces what its record will hold speaks for it whatever stands there",
        claims: &[Claims::Objects],
        edits: &[Edit {
            file: "crates/registry/src/configmap/right.rs",
            text: "Kind::Own => self.only.is_none() || self.only == standing,",
            with: "Kind::Own => PLANTED || self.only.is_none() || self.only == standing,",
        }],
    },
    Bug {
        name: "an unknown outcome is not read again, and its zone is not read as a whole",
        claims: &[Claims::Texts, Claims::Objects, Claims::Table],
        edits: &[Edit {
            file: "crates/engine/src/write_through.rs",
            text: "                worker.reads.doubt(worker.touched(&group));\n                landed.put_off(&group, Some(error));",
            with: "                if !PLANTED {\n                    worker.reads.doubt(worker.touched(&group));\n                }\n                landed.put_off(&group, Some(error).filter(|_| !PLANTED));",
        }],
    },
];
