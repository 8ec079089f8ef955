//! `hush`: messages without passwords.

/// Replaces the login of every URL in a message, and the passwords in its options. A word counts as a URL that has a colon
/// before its last `@`.
pub(crate) fn hush(message: &str) -> String {
    let mut shown = String::with_capacity(message.len());
    for word in message.split_inclusive(char::is_whitespace) {
        shown.push_str(&hushed(word));
    }
    shown
}

fn hushed(word: &str) -> String {
    let mut word = word.to_owned();
    if let Some((login, rest)) = word.rsplit_once('@')
        && let Some((scheme, _)) = login.split_once(':')
    {
        let slashes = if login[scheme.len()..].starts_with("://") { "//" } else { "" };
        word = format!("{scheme}:{slashes}***@{rest}");
    }
    let mut from = 0;
    while let Some(found) = word[from..].find("password=") {
        let value = from + found + "password=".len();
        let end = word[value..].find(['&', '\'', '"']).map_or_else(|| word.trim_end().len(), |end| value + end);
        word.replace_range(value..end, "***");
        from = value;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_login_remains() {
        for (message, shown) in [
            ("unexpected argument 'redis://u:p@ss@h:1/0' found\n", "unexpected argument 'redis://***@h:1/0' found\n"),
            ("a redis://:secret@h b", "a redis://***@h b"),
            ("u:secret@h", "u:***@h"),
            ("name=bob@example.com", "name=bob@example.com"),
            ("redis+sentinel://h/m?sentinel_password=s&x=1", "redis+sentinel://h/m?sentinel_password=***&x=1"),
            ("'redis://h?sentinel_password=s' found", "'redis://h?sentinel_password=***' found"),
            ("at 10:00, mail a@b", "at 10:00, mail a@b"),
        ] {
            assert_eq!(hush(message), shown);
        }
    }
}
