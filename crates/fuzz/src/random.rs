//! Numbers that look like chance and can be repeated: splitmix64.

/// A generator of numbers; the same seed gives the same ones.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub const fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// Derives the seed from the input itself, for choices that must be the same when it is replayed.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        // FNV-1a.
        let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix))
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, or 0 if there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next_u64() % bound).unwrap_or_default()
    }

    /// Picks one of several things, of which there must be one.
    pub fn pick<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}
