//! What differs from external-dns, by what it was started with. The whole list is docs/differences.md.

use super::Swap;

/// One sentence, and when it concerns anybody.
type Fact = (fn(&Swap<'_>) -> bool, &'static str);

fn provider(swap: &Swap<'_>, name: &str) -> bool {
    swap.text("provider") == Some(name)
}

fn registry(swap: &Swap<'_>, name: &str) -> bool {
    swap.text("registry").unwrap_or("txt") == name
}

fn gives(swap: &Swap<'_>, flags: &[&str]) -> bool {
    flags.iter().any(|flag| swap.gives(flag))
}

const FACTS: &[Fact] = &[
    (
        |swap| swap.text("policy").is_none_or(|policy| policy == "sync"),
        "unusually many deletes, and deletes that rest on an incomplete view of the cluster, are held: `zonewright plans` shows them, \
         `zonewright approve HASH` approves them",
    ),
    (
        |swap| swap.text("same-name").is_none(),
        "a name that several objects ask for is held by one of them, and the others get an event; what external-dns has joined stays joined. \
         --same-name=union joins as external-dns does",
    ),
    (
        |swap| registry(swap, "txt"),
        "claims in TXT records are read in every format of external-dns, and written so that it can take over again",
    ),
    (
        |swap| registry(swap, "dynamodb"),
        "the table and its rows are those of external-dns, so that either can take over; the cloud's right to the table is needed as \
         before",
    ),
    (
        |swap| registry(swap, "noop"),
        "without a registry every record of a managed type inside of the filters counts as ours, as with external-dns; the brake on \
         deletes holds all the same",
    ),
    (
        |swap| !registry(swap, "noop") && !swap.gives("txt-owner-id"),
        "--txt-owner-id is not given: both programs then go by the owner \"default\", as does any other daemon without it; `zonewright \
         transfer --from=default --to=NAME` gives the records a name of their own",
    ),
    (
        |swap| gives(swap, &["events", "min-event-sync-interval"]),
        "--events and --min-event-sync-interval are accepted and have no effect: a change of an object is planned at once",
    ),
    (
        |swap| gives(swap, &["once"]),
        "--once ends with 4 where something was not read, 1 where something was not written, and 3 where deletes are held \
         (docs/exit-statuses.md)",
    ),
    (
        |swap| provider(swap, "rfc2136"),
        "each update names the old record and the old claim as prerequisites; the zone is always listed by transfer, so the server must \
         allow AXFR to this key (--rfc2136-axfr is not needed)",
    ),
    (
        |swap| provider(swap, "aws"),
        "changes at Route 53 delete exactly what was read and create the new in one batch, in place of UPSERT; the rights are those of \
         external-dns (docs/providers/route53.md)",
    ),
    (
        |swap| provider(swap, "cloudflare"),
        "only CF_API_TOKEN, CF_API_KEY and CF_API_EMAIL are read of the environment, not CLOUDFLARE_API_TOKEN and its kin \
         (docs/providers/cloudflare.md)",
    ),
    (
        |swap| provider(swap, "google"),
        "items of routing policies are read and shared between owners (docs/providers/clouddns.md)",
    ),
    (
        |swap| provider(swap, "azure") || provider(swap, "azure-private-dns"),
        "a foreign record at a wanted name is left alone (docs/providers/azure.md)",
    ),
    (
        |swap| provider(swap, "webhook"),
        "a record and its claim go to the webhook in one POST, which is split after a refusal until the bad record stands alone",
    ),
    (
        |swap| !swap.source.namespace.is_empty() && !swap.source.chart,
        "/healthz fails where a loop does not turn; /readyz is new; metrics have the same names at the same port 7979",
    ),
];

/// Adds the sentences that concern these arguments.
pub(super) fn report(swap: &mut Swap<'_>) {
    let reported: Vec<String> =
        FACTS.iter().filter(|(concerns, _)| concerns(swap)).map(|(_, text)| (*text).to_owned()).collect();
    swap.differs.extend(reported);
}

/// The way round a refused argument.
pub(super) fn way(what: &str) -> String {
    let name = what.split('=').next().unwrap_or_default();
    let way = match name {
        "--provider" => {
            "a webhook provider, if there is one for it: run it beside Zonewright in the pod, and give --provider=webhook \
             (docs/providers/webhook.md)"
        }
        "--source" => {
            "--unstructured-resource with a template reads any kind (docs/sources.md); the other sources go on without it"
        }
        "--policy" => "one of sync, upsert-only and create-only",
        _ if what.starts_with('@') => "put the lines of the file in the place of the argument, and try again",
        _ => "it is left out below",
    };
    way.to_owned()
}
