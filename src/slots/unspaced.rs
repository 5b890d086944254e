//! Reading a statement in Chinese or Japanese, whose words are not separated.

use super::rules::{Attribute, Language, Piece, RULES, Role, Unspaced, Values};
use super::value::{Form, normal};
use super::{Claim, Slot};
use crate::words::is_unspaced;

/// Longest statement that is read, characters.
const MAX_CHARACTERS: usize = 60;
/// What makes more of a text than one plain statement.
const REFUSED: &[char] = &[
    '?', '？', '!', '！', '。', '，', ',', '；', ';', '、', '\n', '"', '“', '”', '「', '」', '『', '』', '(', ')',
    '（', '）', '：', ':', '…',
];

/// The slots of a statement, all from one reading that leaves no character over.
pub(super) fn read(text: &str) -> Vec<Slot> {
    let text = text.trim().trim_end_matches(['。', '.', '！', '!']).trim();
    if text.contains(REFUSED) || text.chars().nth(MAX_CHARACTERS).is_some() {
        return Vec::new();
    }
    let text = joined(text);
    let is_japanese = text.contains(|c| matches!(c, '\u{3041}'..='\u{30FF}'));
    let language = if is_japanese { Language::Japanese } else { Language::Chinese };
    let rows = RULES.unspaced.iter().filter(|row| row.language == language);
    let readings = rows.filter_map(|row| if is_japanese { japanese(&text, row) } else { chinese(&text, row) });
    // What is ended is said with the words of what holds, and some more.
    let first = |slots: &Vec<Slot>| {
        slots.first().map_or(0, |slot| match slot.claim {
            Claim::Ended => 2,
            Claim::Not => 1,
            Claim::Holds => 0,
        })
    };
    let mut best: Vec<Slot> = Vec::new();
    for slots in readings {
        if best.is_empty() || first(&slots) > first(&best) {
            best = slots;
        }
    }
    best
}

/// Without the blanks that stand between scripts.
fn joined(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let touches = joined.ends_with(is_unspaced) || characters.peek().is_some_and(|next| is_unspaced(*next));
        if !(c.is_whitespace() && touches) {
            joined.push(c);
        }
    }
    joined
}

fn chinese(text: &str, row: &Unspaced) -> Option<Vec<Slot>> {
    let Some(Piece::Literal(first)) = row.pieces.first() else { return None };
    // A sign of what is over may stand at the end: 搬到上海了.
    let text = if row.row.event { text.strip_suffix('了').unwrap_or(text) } else { text };
    // 用户 begins with a verb.
    let named = OWNERS.iter().find(|(written, _)| text.starts_with(written)).map_or(0, |(written, _)| written.len());
    text.match_indices(first).filter(|(at, _)| *at == 0 && named == 0 || *at >= named).find_map(|(at, _)| {
        let (mut subject, predicate) = text.split_at(at);
        let mut changed = false;
        while let Some(word) = CHINESE_ADVERBS.iter().find(|word| subject.ends_with(*word)) {
            subject = subject.strip_suffix(word)?;
            changed |= matches!(*word, "现在" | "如今" | "已经" | "已");
        }
        slots(predicate, row, &chinese_subject(subject)?, changed)
    })
}

const OWNERS: &[(&str, &str)] = &[("用户", "user"), ("我", "user"), ("他", "他"), ("她", "她")];
const CHINESE_ADVERBS: &[&str] = &["现在", "目前", "如今", "已经", "已", "正"];

fn chinese_subject(words: &str) -> Option<String> {
    const KIN: &[&str] = &["妻子", "丈夫", "老婆", "老公", "妈妈", "爸爸", "母亲", "父亲"];
    /// What is in no name: "not", "want", "before", "can", kin of whom one may have several …
    const NOT_IN_NAMES: &[char] = &[
        '的', '不', '没', '想', '要', '会', '能', '可', '曾', '将', '常', '也', '都', '还', '很', '最', '比', '和',
        '跟', '与', '或', '如', '若', '在', '是', '有', '姐', '哥', '弟', '妹', '儿', '女', '友', '以', '前', '去',
        '用', '说', '从', '再', '打', '计', '希', '愿', '据', '听', '谁', '其', '另', '更', '非', '特',
    ];
    match words {
        "" | "用户" | "我" | "本人" | "我的" | "用户的" => return Some("user".into()),
        "他" | "她" => return Some(words.into()),
        _ => {}
    }
    for (written, owner) in OWNERS {
        let kin = words.strip_prefix(written).map(|rest| rest.strip_prefix('的').unwrap_or(rest));
        if let Some(kin) = kin.filter(|kin| KIN.contains(kin)) {
            return Some(format!("{owner} {kin}"));
        }
    }
    let is_name = words.chars().count() <= 6 && !words.contains(NOT_IN_NAMES);
    is_name.then(|| words.to_lowercase())
}

fn japanese(text: &str, row: &Unspaced) -> Option<Vec<Slot>> {
    let text = text.strip_suffix("です").or_else(|| text.strip_suffix('だ')).unwrap_or(text);
    let own = ["私の", "僕の", "ユーザーの"].iter().find_map(|owner| text.strip_prefix(owner)).unwrap_or(text);
    let whole = || slots(own, row, "user", false);
    let Some((subject, rest)) = text.split_once('は') else { return whole() };
    let changed = matches!(subject, "今" | "現在");
    let subject = match subject {
        "私" | "僕" | "俺" | "ユーザー" | "利用者" | "今" | "現在" => "user".to_owned(),
        "彼" | "彼女" => subject.to_owned(),
        "妻" | "夫" | "母" | "父" => format!("user {subject}"),
        name if is_japanese_name(name) => name.to_lowercase(),
        _ => return whole(),
    };
    let plain = rest.strip_prefix('今').or_else(|| rest.strip_prefix("現在")).unwrap_or(rest);
    slots(plain, row, &subject, changed || plain != rest).or_else(whole)
}

fn is_japanese_name(name: &str) -> bool {
    const NOT: &[&str] = &[
        "以前", "昔", "今度", "将来", "来年", "去年", "姉", "兄", "弟", "妹", "息子", "娘", "友", "同僚", "犬", "猫",
        "会議", "誰", "前",
    ];
    let name = name.strip_suffix("さん").unwrap_or(name);
    let is_hiragana = |c: char| matches!(c, '\u{3041}'..='\u{309F}');
    !name.is_empty()
        && name.chars().count() <= 8
        && !name.contains(is_hiragana)
        && !NOT.iter().any(|word| name.contains(word))
}

/// Matches the whole of `text`.
fn slots(text: &str, row: &Unspaced, subject: &str, changed: bool) -> Option<Vec<Slot>> {
    let mut captures: Vec<(Role, Form, &str)> = Vec::new();
    let mut rest = text;
    let mut pieces = row.pieces.iter().peekable();
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Literal(literal) => rest = rest.strip_prefix(literal)?,
            Piece::Capture(role, form) => {
                let end = match pieces.peek() {
                    Some(Piece::Literal(literal)) => rest.find(literal)?,
                    _ => rest.len(),
                };
                let (value, after) = rest.split_at(end);
                let value = value.trim();
                let fits =
                    !value.is_empty() && if *role == Role::For { Form::Any } else { *form }.accepts_unspaced(value);
                fits.then(|| captures.push((*role, *form, value)))?;
                rest = after;
            }
        }
    }
    if !rest.is_empty() {
        return None;
    }
    let attribute: &Attribute = RULES.attribute(row.attribute)?;
    let canonical = |value: &str| RULES.canonical(&normal(value));
    let of = |wanted: Role| captures.iter().find(|(role, ..)| *role == wanted).map(|(.., value)| *value);
    let mut subject = subject.to_owned();
    let mut qualifier = of(Role::For).map(normal).unwrap_or_default();
    if attribute.name == "favourite" {
        subject = format!("{subject} {}", std::mem::take(&mut qualifier));
    }
    if let (Some(than), Some(value)) = (of(Role::Than), of(Role::Value)) {
        let mut pair = [canonical(than), canonical(value)];
        pair.sort_unstable();
        qualifier = pair.join(" / ");
    }
    let claim = match (row.row.ended, row.row.not) {
        (true, _) => Claim::Ended,
        (_, true) => Claim::Not,
        _ => Claim::Holds,
    };
    let kept = captures.iter().filter(|(role, ..)| matches!(role, Role::Value | Role::Old));
    let slots = kept.map(|(role, _, value)| Slot {
        number: row.attribute,
        attribute: attribute.name,
        language: row.language,
        subject: subject.clone(),
        qualifier: qualifier.clone(),
        claim: if *role == Role::Old { Claim::Ended } else { claim },
        value: (*value).to_owned(),
        normal: canonical(value),
        changed: changed || row.row.event,
        is_event: row.row.event,
        is_ranked: of(Role::Than).is_some(),
        since: None,
    });
    let slots: Vec<Slot> = slots.collect();
    (!slots.is_empty() && (attribute.values != Values::Many || slots.len() == 1)).then_some(slots)
}
