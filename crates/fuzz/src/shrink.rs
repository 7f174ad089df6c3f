//! Makes a failing input smaller for as long as it still fails.

use std::time::{Duration, Instant};

/// How long smaller inputs are tried.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Returns the smallest input found that still `fails`.
pub(crate) fn shrunk(mut input: Vec<u8>, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let began = Instant::now();
    let mut piece = input.len().div_ceil(2);
    while piece > 0 {
        let before = input.len();
        let mut at = 0;
        while at < input.len() {
            let mut smaller = input.clone();
            drop(smaller.drain(at..(at + piece).min(input.len())));
            if began.elapsed() > TIME_MAX {
                return input;
            }
            if fails(&smaller) {
                input = smaller;
            } else {
                at += piece;
            }
        }
        // Single bytes may go once others have gone.
        piece = if piece == 1 && input.len() < before { 1 } else { piece / 2 };
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_makes_it_fail_is_left() {
        let long = b"some text with (an opening and a closing) bracket".to_vec();
        let fails = |input: &[u8]| {
            let open = input.iter().position(|byte| *byte == b'(');
            open.is_some_and(|at| input[at..].contains(&b')'))
        };
        assert_eq!(shrunk(long, fails), b"()");
    }
}
