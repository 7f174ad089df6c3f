//! Lines of Claude Code, and what they mean.
