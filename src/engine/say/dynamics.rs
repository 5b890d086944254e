//! What ebbs, in words.

use crate::engine::due::{DueAnswer, DueMemory};
use crate::engine::tune::TuneAnswer;

/// What is worth a look.
pub(super) fn due_lines(text: &mut String, answer: &DueAnswer) {
    let mut list = |heading: &str, memories: &[DueMemory]| {
        for (place, memory) in memories.iter().enumerate() {
            if place == 0 {
                line!(text, "{heading}:");
            }
            line!(text, "{} [{}] {} ({})", memory.id, memory.kind, memory.text, memory.why);
        }
    };
    list("due for review", &answer.due);
    list("long not used", &answer.surfaced);
    if answer.due.is_empty() && answer.surfaced.is_empty() {
        line!(text, "Nothing is due for review.");
    }
}

/// Which half-lives the uses speak for.
pub fn tune(answer: &TuneAnswer) -> String {
    let mut text = String::new();
    if answer.memories == 0 {
        return "There is nothing to go by: no memories yet.\n".into();
    }
    for kind in &answer.kinds {
        let median =
            kind.median_gap_days.map_or(String::new(), |days| format!(", used again after {days} days (median)"));
        line!(
            text,
            "{}: {} memories{median}, half-life {} days; {}",
            kind.kind,
            kind.memories,
            kind.half_life_days,
            kind.why
        );
    }
    if answer.config.is_empty() {
        line!(text, "\nNothing to change.");
    } else {
        line!(text, "\nNothing was changed. To follow this, put into config.toml:\n\n{}", answer.config);
    }
    text
}
