//! Tests that each piece of the script declares exactly the locals of the chunk that it uses and defines.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use paddlegate::store::redis::compose;

/// The names that Lua and Redis define. All other names are locals of the chunk.
const GLOBALS: [&str; 11] =
    ["ARGV", "KEYS", "ipairs", "math", "pairs", "redis", "string", "table", "tonumber", "type", "unpack"];

/// Lua allows 200 locals in a function, and the chunk is one function.
const MAX_LOCALS: usize = 120;

#[test]
fn each_piece_requires_what_it_uses_and_provides_what_it_defines() {
    let pieces = pieces();
    assert!(pieces.len() > 10, "only {} pieces", pieces.len());
    let faults = faults(&pieces);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let locals: usize =
        pieces.iter().map(|(_, text, head)| if head.is_some() { 1 } else { Names::of(text).defined.len() }).sum();
    println!("{} pieces with {locals} locals", pieces.len());
    assert!(locals <= MAX_LOCALS, "{locals} locals in the chunk");
}

#[test]
fn the_pieces_of_the_scripts_of_plain_calls_do_so_too() {
    let seen = RefCell::new(BTreeSet::new());
    for shape in ["m", "b", "w", "wmbwm", "mp", "wbp", "c", "r"] {
        let text = compose(shape, &|file, text| {
            let faults = declaration_faults(file, text, &Names::of(text));
            assert!(faults.is_empty(), "{}", faults.join("\n"));
            seen.borrow_mut().insert(file);
            text.into()
        });
        let used: Vec<_> = Names::of(&text).used.into_iter().filter(|name| !GLOBALS.contains(&name.as_str())).collect();
        assert!(used.is_empty(), "{shape} does not define {used:?}:\n{text}");
        assert!(!text.contains("_N"), "{shape}:\n{text}");
    }
    assert_eq!(seen.borrow().len(), 15, "{seen:?}");
}

#[test]
fn a_wrong_requires_or_provides_line_is_found() {
    let first = "-- REQUIRES: nothing\n-- PROVIDES: one two\nlocal one, two = 1, {}\n";
    let of = |second: &str| {
        let pieces = [first, second].map(|text| (text.lines().count().to_string(), text.to_owned(), None));
        faults(&pieces)
    };
    let correct =
        "-- REQUIRES: one two\n-- PROVIDES: three\nlocal function three(four)\n  two.five = one + four\nend\n";
    assert_eq!(of(correct), Vec::<String>::new());
    let wrong = [
        ("uses one", correct.replace("REQUIRES: one two", "REQUIRES: two")),
        ("does not use six", correct.replace("REQUIRES: one", "REQUIRES: six one")),
        (
            "nothing before provides six",
            correct.replace("REQUIRES: one", "REQUIRES: six one").replace("one +", "six + one +"),
        ),
        ("does not define six", correct.replace("PROVIDES: three", "PROVIDES: three six")),
        ("defines three", correct.replace("PROVIDES: three", "PROVIDES: nothing")),
        ("changes two", correct.replace("two.five =", "two =")),
        ("changes two", correct.replace("two.five = one", "one.six, two = one, one")),
        ("changes two", correct.replace("two.five = one + four", "function two() end")),
        ("defines again one", correct.replace("PROVIDES:", "PROVIDES: one").replace("local", "local one = 2\nlocal")),
        ("uses four", correct.replace("end\n", "end\nfour = nil\n")),
        ("uses five", correct.replace("two.five", "two[five]")),
    ];
    for (fault, text) in wrong {
        let found = of(&text);
        assert!(found.iter().any(|found| found.contains(fault)), "{fault}: {found:?} in\n{text}");
    }
}

/// A piece of the script: its file, its text, and the head of the function whose body it is.
type Piece = (String, String, Option<String>);

/// Returns the pieces in the order of `script.rs`.
fn pieces() -> Vec<Piece> {
    let script = find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "script.rs").expect("script.rs");
    let text = fs::read_to_string(&script).expect("a text");
    let folder = script.parent().expect("a folder");
    let parts: Vec<&str> = text.split("include_str!(\"").collect();
    let piece = |(before, part): (&&str, &&str)| {
        let path = part.split('"').next().expect("a path");
        let head = before.split_once("function!(\n").filter(|(_, head)| head.trim_end().ends_with(','));
        let head = head.map(|(_, head)| head.trim().trim_matches(['"', ',']).to_owned());
        (path.to_owned(), fs::read_to_string(folder.join(path)).expect("a piece"), head)
    };
    parts.iter().zip(&parts[1..]).map(piece).collect()
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries: Vec<_> = fs::read_dir(folder).ok()?.map(|entry| entry.expect("an entry").path()).collect();
    let here = entries.iter().find(|path| path.file_name().is_some_and(|file| file == name)).cloned();
    here.or_else(|| entries.iter().filter(|path| path.is_dir()).find_map(|folder| find(folder, name)))
}

/// Returns the errors in the declarations of the pieces.
fn faults(pieces: &[Piece]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for (file, text, head) in pieces {
        let mut names = Names::of(text);
        names.used.retain(|name| !GLOBALS.contains(&name.as_str()) || known.contains(name));
        faults.extend(declaration_faults(file, text, &names));
        let Names { defined, changed, .. } = names;
        // A function is known, and not what its body defines.
        let (inputs, defined) = match head.as_ref().and_then(|head| head.trim_end_matches(')').split_once('(')) {
            Some((name, inputs)) => {
                (inputs.split(", ").map(str::to_owned).collect(), BTreeSet::from([name.to_owned()]))
            }
            None => (BTreeSet::new(), defined),
        };
        let mut fault = |what: &str, name: &String| faults.push(format!("{file}: {what} {name}"));
        let required = declared(text, "REQUIRES");
        required.iter().filter(|name| !known.contains(*name) && !inputs.contains(*name)).for_each(|name| {
            fault("nothing before provides", name);
        });
        inputs.difference(&required).for_each(|name| fault("does not use its input", name));
        changed.intersection(&known).for_each(|name| fault("changes", name));
        defined.intersection(&known).for_each(|name| fault("defines again", name));
        known.extend(defined);
    }
    faults
}

/// Returns the differences between what a piece declares and what it does.
fn declaration_faults(file: &str, text: &str, names: &Names) -> Vec<String> {
    let (requires, provides) = (declared(text, "REQUIRES"), declared(text, "PROVIDES"));
    let allowed = if text.contains("-- CHANGES: ") { declared(text, "CHANGES") } else { BTreeSet::new() };
    let changed: BTreeSet<String> = names.changed.difference(&names.defined).cloned().collect();
    let used: BTreeSet<String> = names
        .used
        .iter()
        .filter(|name| requires.contains(*name) || !GLOBALS.contains(&name.as_str()))
        .cloned()
        .collect();
    let mut faults = Vec::new();
    let mut fault = |what: &str, names: Vec<&String>| {
        faults.extend(names.into_iter().map(|name| format!("{file}: {what} {name}")));
    };
    fault("does not require, and uses", used.difference(&requires).collect());
    fault("requires, and does not use", requires.difference(&used).collect());
    fault("does not provide, and defines", names.defined.difference(&provides).collect());
    fault("provides, and does not define", provides.difference(&names.defined).collect());
    fault("does not say that it changes", changed.difference(&allowed).collect());
    fault("does not change", allowed.difference(&changed).collect());
    faults
}

/// Returns the names on the lines that begin with `-- {what}:`.
fn declared(text: &str, what: &str) -> BTreeSet<String> {
    let begin = format!("-- {what}: ");
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(&begin)).collect();
    assert!(!lines.is_empty(), "no line {what} in\n{}", text.lines().take(8).collect::<Vec<_>>().join("\n"));
    lines.iter().flat_map(|line| line.split_whitespace()).filter(|name| *name != "nothing").map(str::to_owned).collect()
}

/// The names that a piece defines, uses and changes.
#[derive(Default)]
struct Names {
    /// Names that are defined outside every block.
    defined: BTreeSet<String>,
    /// Names that are defined neither outside every block nor in a block around the use.
    used: BTreeSet<String>,
    /// Names on the left of an assignment.
    changed: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    text: String,
    line: usize,
}

impl Token {
    fn is_name(&self) -> bool {
        self.text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && !self.is_keyword()
    }

    fn is_keyword(&self) -> bool {
        const KEYWORDS: &str = " and break do else elseif end false for function if in local nil not or repeat return then true until while ";
        KEYWORDS.contains(&format!(" {} ", self.text))
    }
}

impl Names {
    fn of(text: &str) -> Self {
        let tokens = tokens(text);
        let mut names = Self::default();
        let mut scopes: Vec<BTreeSet<String>> = vec![BTreeSet::new()];
        // A local is visible from the line after its definition, and a loop variable in the block of its loop.
        let mut pending: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let mut of_loop: Vec<String> = Vec::new();
        let mut brackets: Vec<String> = Vec::new();
        let mut i = 0;
        while i < tokens.len() {
            let token = &tokens[i];
            let ready: Vec<usize> = pending.range(..token.line).map(|(line, _)| *line).collect();
            for line in ready {
                scopes.last_mut().expect("a scope").extend(pending.remove(&line).expect("names"));
            }
            let next = tokens.get(i + 1);
            let previous = i.checked_sub(1).map(|before| tokens[before].text.as_str()).unwrap_or_default();
            match token.text.as_str() {
                "local" if next.is_some_and(|next| next.text == "function") => {
                    scopes.last_mut().expect("a scope").insert(tokens[i + 2].text.clone());
                    i = enter(&tokens, i + 3, &mut scopes);
                    continue;
                }
                "local" | "for" => {
                    let mut list = Vec::new();
                    i += 1;
                    while tokens[i].is_name() {
                        list.push(tokens[i].text.clone());
                        i += 1;
                        if tokens[i].text != "," {
                            break;
                        }
                        i += 1;
                    }
                    if token.text == "for" {
                        of_loop = list;
                    } else {
                        pending.entry(token.line).or_default().extend(list);
                    }
                    continue;
                }
                "function" => {
                    let mut name = i + 1;
                    if tokens[name].is_name() {
                        let is_plain = tokens[name + 1].text == "(";
                        names.resolve(&tokens[name].text, is_plain, &scopes);
                        while tokens[name].text != "(" {
                            name += 1;
                        }
                    }
                    i = enter(&tokens, name, &mut scopes);
                    continue;
                }
                "do" => scopes.push(of_loop.drain(..).collect()),
                "then" | "repeat" => scopes.push(BTreeSet::new()),
                "else" => *scopes.last_mut().expect("a block") = BTreeSet::new(),
                "end" | "elseif" | "until" => {
                    let scope = scopes.pop();
                    assert!(scope.is_some() && !scopes.is_empty(), "line {}: no block ends here", token.line);
                }
                "(" | "{" | "[" => brackets.push(token.text.clone()),
                ")" | "}" | "]" => drop(brackets.pop()),
                _ if token.is_name() && previous != "." && previous != ":" => {
                    let is_key =
                        next.is_some_and(|next| next.text == "=") && brackets.last().is_some_and(|open| open == "{");
                    if !is_key {
                        let is_changed = brackets.is_empty() && is_target(&tokens, i);
                        names.resolve(&token.text, is_changed, &scopes);
                    }
                }
                _ => {}
            }
            i += 1;
        }
        assert_eq!(scopes.len(), 1, "a block does not end");
        let mut defined = scopes.pop().expect("a scope");
        defined.extend(pending.into_values().flatten());
        names.defined = defined;
        names
    }

    fn resolve(&mut self, name: &str, is_changed: bool, scopes: &[BTreeSet<String>]) {
        if scopes.iter().any(|scope| scope.contains(name)) {
            return;
        }
        self.used.insert(name.to_owned());
        if is_changed {
            self.changed.insert(name.to_owned());
        }
    }
}

/// Opens the scope of a function whose parameters begin at `open`, and returns where its block begins.
fn enter(tokens: &[Token], open: usize, scopes: &mut Vec<BTreeSet<String>>) -> usize {
    assert_eq!(tokens[open].text, "(", "line {}", tokens[open].line);
    let close = open + tokens[open..].iter().position(|token| token.text == ")").expect("a bracket");
    let names = tokens[open..close].iter().filter(|token| token.is_name());
    scopes.push(names.map(|token| token.text.clone()).collect());
    close + 1
}

/// Returns whether the name is assigned to: alone between commas, before a `=`, on a line that begins with the targets.
fn is_target(tokens: &[Token], name: usize) -> bool {
    let line = tokens[name].line;
    let begin = tokens.iter().position(|token| token.line == line).expect("the line");
    let depth = |from: usize, to: usize| {
        let count = |set: &str| tokens[from..to].iter().filter(|token| set.contains(&token.text)).count();
        count("({[") == count(")}]")
    };
    let end = (begin..tokens.len())
        .take_while(|i| tokens[*i].line == line)
        .find(|i| tokens[*i].text == "=" && depth(begin, *i));
    let starts = tokens[begin].is_name() && (begin == 0 || !"=,(".contains(&tokens[begin - 1].text));
    let is_alone = tokens.get(name + 1).is_some_and(|next| [",", "="].contains(&next.text.as_str()))
        && (name == begin || tokens[name - 1].text == ",")
        && depth(begin, name);
    starts && is_alone && end.is_some_and(|end| name < end)
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (number, whole) in text.lines().enumerate() {
        let mut rest = whole.trim_start();
        while !rest.is_empty() && !rest.starts_with("--") {
            let first = rest.chars().next().expect("a character");
            let length = if first.is_ascii_alphanumeric() || first == '_' {
                rest.find(|other: char| !other.is_ascii_alphanumeric() && other != '_').unwrap_or(rest.len())
            } else if first == '\'' {
                rest[1..].find('\'').expect("the end of a string") + 2
            } else {
                ["..", "==", "~=", "<=", ">="]
                    .iter()
                    .find(|symbol| rest.starts_with(**symbol))
                    .map_or(1, |two| two.len())
            };
            // A string is one token, and not a name.
            tokens.push(Token { text: rest[..length].to_owned(), line: number + 1 });
            rest = rest[length..].trim_start();
        }
    }
    tokens
}
