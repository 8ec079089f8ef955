//! `completions` and `man`: what shells and manuals say of the command, made from its arguments.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::command::Paddlegate;
use crate::failure::Failure;
use crate::print;

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Paddlegate::command(), "paddlegate", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// Prints the first manual page, or writes those of all commands into a folder, which it creates.
pub(crate) fn man(folder: Option<&Path>) -> Result<(), Failure> {
    let command = Paddlegate::command();
    let Some(folder) = folder else {
        let mut text = Vec::new();
        let failed = |error| Failure::write("the page", &error);
        Man::new(command).render(&mut text).map_err(failed)?;
        return print(&String::from_utf8_lossy(&text));
    };
    let failed = |error| Failure::write(&folder.display().to_string(), &error);
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(command, folder).map_err(failed)
}
