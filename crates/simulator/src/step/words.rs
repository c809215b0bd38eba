//! Each step as a sentence of the story.

use std::fmt;

use super::{Action, Command, Crowd, Flags, ManualEdit, Meanwhile, Pick, Step};
use crate::cluster::KINDS;
use crate::line::Mood;

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(cluster, id, spec) => write!(f, "In cluster {cluster}, {id} asks for {spec}."),
            Self::Blank(cluster, id) => write!(f, "In cluster {cluster}, {id} loses its addresses."),
            Self::Reweigh(cluster, id, meanwhile) => {
                write!(f, "In cluster {cluster}, {id} goes between weighted sets and simple ones{meanwhile}.")
            }
            Self::Join(cluster, id, other) => {
                write!(f, "In cluster {cluster}, {id} asks for one more set beside the first one of {other}.")
            }
            Self::Turn(cluster, id) => {
                write!(f, "In cluster {cluster}, {id} asks for addresses of the other family.")
            }
            Self::Delete(cluster, id) => write!(f, "In cluster {cluster}, {id} is deleted."),
            Self::Vanish(cluster, id) => write!(f, "In cluster {cluster}, {id} is gone from a new list."),
            Self::LoseWatch(cluster, kind) => write!(f, "Cluster {cluster}: the watch of {} is lost.", KINDS[*kind].1),
            Self::Empty(cluster, kind, lies) => {
                let doubt = if *lies { "as if that were all" } else { "and it is in doubt" };
                write!(f, "Cluster {cluster}: a list of {} comes back empty, {doubt}.", KINDS[*kind].1)
            }
            Self::Mend(cluster, kind) => {
                write!(f, "Cluster {cluster}: {} are listed and watched again.", KINDS[*kind].1)
            }
            Self::Human(key, edit) => match edit {
                ManualEdit::Write(data) => write!(f, "A human makes {key} hold {data}."),
                ManualEdit::Add(data) => write!(f, "A human adds {data} to {key}."),
                ManualEdit::Remove => write!(f, "A human takes {key} away."),
                ManualEdit::Disown => write!(f, "A human takes the claim on {key} away."),
                ManualEdit::Assign(owner) => write!(f, "A human makes the claim on {key} one of {owner}."),
                ManualEdit::Dispute => write!(f, "A human adds a stranger's claim beside that on {key}."),
                ManualEdit::Unlabel => write!(f, "A human makes the claim on {key} one for no object."),
                ManualEdit::Remark => write!(f, "A human adds a text beside the claim on {key}."),
                ManualEdit::Age(beside) => {
                    let beside = if *beside { ", and somebody an AAAA beside it" } else { "" };
                    write!(f, "A human puts the claim on {key} where old ones stand{beside}.")
                }
                ManualEdit::Scribble => write!(f, "A human damages the claim on {key}."),
            },
            Self::PeerRequest(key, Some(data)) => write!(f, "The peer is asked for {key} {data}."),
            Self::PeerRequest(key, None) => write!(f, "The peer is not asked for {key} any more."),
            Self::PeerList => write!(f, "The peer lists the zones."),
            Self::PeerApply => write!(f, "The peer writes what it planned from its last list."),
            Self::Restart(daemon) => write!(f, "Daemon {daemon} is restarted."),
            Self::Crash(daemon) => write!(f, "Daemon {daemon} dies and is started again."),
            Self::Clock(daemon, by) => write!(f, "The clock of daemon {daemon} jumps by {by} s; it is started again."),
            Self::Approve(daemon, Pick::One(_)) => write!(f, "Somebody approves a plan that daemon {daemon} holds."),
            Self::Approve(daemon, Pick::Former(_)) => {
                write!(f, "Somebody approves a plan that daemon {daemon} held at some time.")
            }
            Self::Approve(daemon, Pick::Wrong) => write!(f, "Somebody gives daemon {daemon} a wrong hash."),
            Self::Crowd(crowd) => crowd.fmt(f),
            Self::Flags(daemon, flags) => write!(f, "Daemon {daemon} is restarted with other flags: {flags}."),
            Self::State(daemon, Mood::Well) => write!(f, "The state of daemon {daemon} can be read and saved."),
            Self::State(daemon, Mood::Full) => write!(f, "The state of daemon {daemon} cannot be saved."),
            Self::State(daemon, Mood::Shut) => {
                write!(f, "The state of daemon {daemon} cannot be read; it is restarted.")
            }
            Self::State(daemon, Mood::Garbled) => {
                write!(f, "What is read of the state of daemon {daemon} makes no sense; it is restarted.")
            }
            Self::Command(daemon, command) => write!(f, "Beside daemon {daemon}: {command}."),
            Self::RefuseType(rtype) => write!(f, "The provider refuses {rtype} records from now on."),
            Self::LoseZone(zone) => write!(f, "The list of zones leaves out number {zone}."),
            Self::Refuse(name) => write!(f, "The provider refuses {name} from now on."),
            Self::Relent => write!(f, "The provider refuses no name any more, and lists all zones."),
            Self::Wait(seconds) => write!(f, "{seconds} s pass."),
        }
    }
}

impl fmt::Display for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Robbed => f.write_str(", while a human takes its first record away"),
            Self::Remarked => f.write_str(", while a human takes its first record away and writes beside the claim"),
            Self::Alone => f.write_str(", and the others with sets at its names are gone from a new list"),
            Self::Succeeded(heir) => {
                write!(f, " and is gone from a new list, with the others at its names: {heir} asks for that instead")
            }
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adopt => f.write_str("adopt"),
            Self::Transfer(name, to) => write!(f, "transfer what is below {name} to {to}"),
            Self::Release(name) => write!(f, "release what is below {name}"),
            Self::Drain(name) => write!(f, "drain what is below {name}"),
            Self::Undo(seconds) => write!(f, "undo the last {seconds} s"),
        }
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy {:?}, sources", self.policy)?;
        let read = KINDS.iter().zip(self.sees.kinds).filter(|(_, read)| *read);
        read.into_iter().try_for_each(|((source, _), _)| write!(f, " {source}"))?;
        if !self.sees.prefix {
            f.write_str(", another annotation prefix")?;
        }
        if self.moved {
            f.write_str(", claims at the other place")?;
        }
        if self.narrow { f.write_str(", without n0.one.test") } else { Ok(()) }
    }
}

impl fmt::Display for Crowd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vanish(share) => write!(f, "In cluster 0, {share} of 100 of the crowd are gone from a new list."),
            Self::Delete(share) => write!(f, "In cluster 0, {share} of 100 of the crowd are deleted."),
            Self::Back => write!(f, "In cluster 0, all of the crowd is there."),
            Self::Move => write!(f, "In cluster 0, all of the crowd has other addresses."),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.action.fmt(f)?;
        if self.rough {
            f.write_str(" Calls may fail.")?;
        }
        if self.hasty {
            f.write_str(" Nobody waits.")?;
        }
        Ok(())
    }
}
