//! Names in Chinese and Japanese, by the words that show them.

use super::rules::RULES;
use super::{EntityKind, Found};
use crate::words::is_unspaced;

/// Chinese family names of one character.
const SURNAMES: &str = "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文";
/// Characters with which Chinese writes foreign names.
const SOUNDS: &str = "阿埃艾安奥巴贝本比彼毕波伯布查达戴丹德邓迪蒂杜恩尔法菲费弗福戈哥格古哈海汉赫亨霍吉加杰金卡凯康科克肯库拉莱兰劳雷里利丽莉林琳卢鲁露伦罗洛马玛迈曼梅米蜜莫姆纳娜内尼妮诺欧帕佩皮珀普乔切琼萨塞莎桑森珊史斯丝苏索塔泰坦汤特图托瓦万威维温沃乌西希夏谢休雅亚扬耶伊因尤约泽詹珍朱茱兹佐";
/// What follows a name in a sentence.
const FOLLOWS: &str = "是在有的和跟与去来说要想把被对给从到也都很不没就已刚正将喜爱推做当会教住今昨明每工开今九，。！？：；、“”《》（）() \n";
/// Words that begin like a name.
const NOT_NAMES: [&str; 40] = [
    "马上", "马路", "高兴", "高中", "高级", "高考", "金融", "金钱", "黄色", "白天", "白色", "方便", "方面", "方法",
    "常常", "万一", "任何", "安全", "石头", "老人", "老师", "老家", "老板", "小学", "小时", "小说", "小孩", "小区",
    "小心", "张开", "周末", "周围", "何时", "毛衣", "毛病", "于是", "唐朝", "宋朝", "史上", "成为",
];
/// Who somebody is to somebody.
const RELATIONS: [&str; 30] = [
    "丈夫",
    "妻子",
    "老公",
    "老婆",
    "同事",
    "朋友",
    "妹妹",
    "姐姐",
    "哥哥",
    "弟弟",
    "女儿",
    "儿子",
    "妈妈",
    "爸爸",
    "老板",
    "男友",
    "女友",
    "男朋友",
    "女朋友",
    "经理",
    "邻居",
    "室友",
    "表哥",
    "表妹",
    "狗",
    "猫",
    "奶奶",
    "爷爷",
    "同学",
    "助理",
];
const JAPANESE_RELATIONS: [&str; 26] = [
    "夫",
    "妻",
    "旦那",
    "妹",
    "姉",
    "兄",
    "弟",
    "娘",
    "息子",
    "友達",
    "友人",
    "親友",
    "同僚",
    "上司",
    "部下",
    "彼女",
    "彼氏",
    "犬",
    "猫",
    "父",
    "母",
    "祖母",
    "祖父",
    "先輩",
    "後輩",
    "いとこ",
];
/// What a person does, so that what stands before it is one.
const JAPANESE_DOINGS: [&str; 14] = [
    "飼って",
    "働いて",
    "住んで",
    "勤めて",
    "通って",
    "生まれ",
    "結婚",
    "看護師",
    "医者",
    "教師",
    "エンジニア",
    "学生です",
    "好きです",
    "言って",
];
/// Things that somebody has: "夫の仕事".
const JAPANESE_NOUNS: [&str; 33] = [
    "仕事",
    "会社",
    "実家",
    "家族",
    "名前",
    "趣味",
    "誕生日",
    "学校",
    "大学",
    "家",
    "部屋",
    "車",
    "電話",
    "写真",
    "両親",
    "友達",
    "友人",
    "結婚",
    "パソコン",
    "ピアノ",
    "エサ",
    "散歩",
    "職場",
    "病院",
    "母",
    "父",
    "話",
    "子供",
    "パート",
    "アパート",
    "秘密",
    "未定",
    "不明",
];
/// Honorifics, the longest first.
const HONORIFICS: [&str; 12] =
    ["ちゃん", "先生", "部長", "課長", "社長", "老师", "女士", "教授", "医生", "さん", "くん", "さま"];
/// What stands before an honorific and is no name.
const NOT_HONOURED: [&str; 23] = [
    "皆",
    "客",
    "母",
    "父",
    "兄",
    "姉",
    "奥",
    "娘",
    "息子",
    "店員",
    "花屋",
    "本屋",
    "医者",
    "看護師",
    "嫁",
    "孫",
    "子",
    "猫",
    "赤",
    "数学",
    "英语",
    "语文",
    "大学",
];
/// Days that stand before a name without a mark: "昨日田中さん".
const DAYS: [&str; 12] =
    ["昨日", "今日", "明日", "先週", "今週", "来週", "今朝", "先日", "昨天", "今天", "明天", "毎日"];
/// Behind a place these make something else of it: a people, a language, a dish.
const NOT_PLACES: &str = "人语語文菜料製式队隊酒茶車裔";
const MOST: usize = 6;

fn is_han(c: char) -> bool {
    matches!(c, '\u{4E00}'..='\u{9FFF}' | '々')
}

fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30A1}'..='\u{30FA}' | 'ー' | '・')
}

/// The run of characters of one script that begins `text`.
fn run(text: &str) -> &str {
    let first = text.chars().next().unwrap_or(' ');
    let same: fn(char) -> bool = if is_katakana(first) { is_katakana } else { is_han };
    text.get(..text.find(|c| !same(c)).unwrap_or(text.len())).unwrap_or_default()
}

/// The run of characters of one script that ends `text`.
fn run_before(text: &str) -> &str {
    let last = text.chars().next_back().unwrap_or(' ');
    let same: fn(char) -> bool = if is_katakana(last) { is_katakana } else { is_han };
    let start = text.char_indices().rev().take_while(|(_, c)| same(*c)).last().map_or(text.len(), |(at, _)| at);
    text.get(start..).unwrap_or_default()
}

/// A Chinese name that begins `text`: a foreign one by its sounds, or family name and one or two characters.
fn chinese_name(text: &str) -> Option<&str> {
    let ends = |text: &str| text.chars().next().is_none_or(|next| FOLLOWS.contains(next));
    let sounds = text.find(|c| !SOUNDS.contains(c) && c != '·').unwrap_or(text.len());
    let (foreign, rest) = text.split_at_checked(sounds)?;
    if (2..=MOST).contains(&foreign.chars().count()) && ends(rest) {
        return Some(foreign);
    }
    let first = text.chars().next()?;
    if SURNAMES.contains(first) || matches!(first, '小' | '阿' | '老') {
        let ends_at = text.char_indices().skip(1).map(|(at, _)| at).chain([text.len()]).take(3).skip(1);
        let names = ends_at.filter_map(|end| text.split_at_checked(end));
        let is_word = |name: &str| NOT_NAMES.iter().any(|word| name.starts_with(word));
        let is_name = |(name, rest): &(&str, &str)| name.chars().all(is_han) && ends(rest) && !is_word(name);
        return names.into_iter().find(is_name).map(|(name, _)| name);
    }
    let mut twice = text.chars();
    let (one, two) = (twice.next()?, twice.next()?);
    let pet = text.get(..one.len_utf8() * 2)?;
    (one == two && is_han(one) && ends(twice.as_str())).then_some(pet)
}

/// The names that patterns show, in order.
pub(super) fn read(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let at_of = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let mut add = |name: &str, kind: Option<EntityKind>| {
        let start = at_of(name);
        let end = start + name.len();
        if !name.is_empty() && !found.iter().any(|other| other.start < end && start < other.end) {
            found.push(Found { start, end, name: name.to_owned(), kind });
        }
    };
    // A turn of a conversation.
    if let Some((speaker, _)) = text.split_once('：')
        && (2..=4).contains(&speaker.chars().count())
        && (chinese_name(text.get(..speaker.len() + '：'.len_utf8()).unwrap_or_default()) == Some(speaker)
            || speaker.chars().all(is_han) && text.contains(|c| matches!(c, '\u{3041}'..='\u{309F}')))
    {
        add(speaker, Some(EntityKind::Person));
    }
    for honorific in HONORIFICS {
        for (at, _) in text.match_indices(honorific) {
            let before = run_before(text.get(..at).unwrap_or_default());
            let name = DAYS.iter().find_map(|day| before.strip_prefix(day)).unwrap_or(before);
            let is_chinese = matches!(honorific, "老师" | "女士" | "教授" | "医生");
            let surname = name.char_indices().next_back().and_then(|(last, _)| name.get(last..)).unwrap_or_default();
            let whole = |name: &str| text.get(at_of(name)..at + honorific.len()).unwrap_or_default();
            if NOT_HONOURED.contains(&name) || name.is_empty() {
            } else if is_chinese || name.chars().count() == 1 {
                if SURNAMES.contains(surname) && !surname.is_empty()
                    || !is_chinese && name.chars().count() == 1 && "森原関南東西堀辻林".contains(surname)
                {
                    add(whole(surname), Some(EntityKind::Person));
                }
            } else if name.chars().count() <= MOST {
                add(name, Some(EntityKind::Person));
            }
        }
    }
    for relation in RELATIONS {
        for (at, _) in text.match_indices(relation) {
            let after = text.get(at + relation.len()..).unwrap_or_default();
            let named = ["叫做", "名叫", "叫"].iter().find_map(|called| after.strip_prefix(called));
            if let Some(name) = chinese_name(named.unwrap_or(after)) {
                add(name, Some(EntityKind::Person));
            }
        }
    }
    for relation in JAPANESE_RELATIONS {
        for (at, matched) in text.match_indices(&format!("{relation}の")) {
            let after = text.get(at + matched.len()..).unwrap_or_default();
            if let Some(name) = after.strip_prefix("名前は") {
                let end = name.find(['で', 'だ', '。', '、']).unwrap_or(name.len());
                let name = name.get(..end).unwrap_or_default();
                if name.chars().count() <= MOST && !JAPANESE_NOUNS.contains(&name) {
                    add(name, Some(EntityKind::Person));
                }
                continue;
            }
            let name = run(after);
            let rest = after.get(name.len()..).unwrap_or_default();
            let clause = rest.split(['。', '、']).next().unwrap_or_default();
            let is_person =
                rest.starts_with(['は', 'が', 'も']) && JAPANESE_DOINGS.iter().any(|doing| clause.contains(doing));
            if is_person && (2..=MOST).contains(&name.chars().count()) && !JAPANESE_NOUNS.contains(&name) {
                add(name, Some(EntityKind::Person));
            }
        }
    }
    for (open, close) in [("《", "》"), ("「", "」"), ("“", "”"), ("『", "』")] {
        for (at, _) in text.match_indices(open) {
            let after = text.get(at + open.len()..).unwrap_or_default();
            let Some((name, rest)) = after.split_once(close) else { continue };
            let before = text.get(..at).unwrap_or_default();
            let is_project = before.ends_with("项目")
                || before.ends_with("プロジェクト")
                || rest.starts_with("项目")
                || rest.starts_with("プロジェクト");
            if is_project {
                add(name, Some(EntityKind::Project));
            } else if open == "《" {
                add(name, None);
            }
        }
    }
    for mention in RULES.common.find(text).into_iter().filter(|mention| mention.name.contains(is_unspaced)) {
        let after = text.get(mention.end..).unwrap_or_default();
        let kind = RULES.kind_of(&mention.name);
        if let Some(school) = after.strip_prefix("大学") {
            add(text.get(mention.start..text.len() - school.len()).unwrap_or_default(), Some(EntityKind::Organisation));
        } else if kind != Some(EntityKind::Place) || !after.starts_with(|c| NOT_PLACES.contains(c)) {
            add(text.get(mention.start..mention.end).unwrap_or_default(), kind);
        }
    }
    found.sort_by_key(|found| found.start);
    found
}
