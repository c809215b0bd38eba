//! Random rounds for a real external-dns and Zonewright side by side.
//!
//! In: the recorded runs in `tests/corpus` and a seed. Out: rounds, each a recorded run with a few random changes
//! ([`draw`]), and an API server that answers from a round's objects ([`api`]). What the two programs did is compared by
//! the binary, with the rules of the test `corpus`.
//!
//! For the two programs at one cloud service ([`cloud`]): the objects ([`shapes`], [`work`]), the swap, in which one finds nothing to do after
//! the other ([`swap`]), and what the same work costs ([`cost`]).

pub mod api;
pub mod cloud;
pub mod command;
pub mod cost;
pub mod dice;
pub mod draw;
pub mod ours;
pub mod round;
pub mod shapes;
pub mod swap;
pub mod work;
