//! Names that Forge and the agent programs share: commands of the own program, and environment variables.
//!
//! Not here: variables that every attempt has (`forge_keeper::variables`).

/// Argument 1 of the command line of the process that speaks ACP with an agent.
pub const ACP_COMMAND: &str = "__acp";
/// Argument 1 of the scripted agent's command line.
pub const SCRIPTED_COMMAND: &str = "__scripted";
/// Which turn of its call this is: unset for the first one, or [`REPAIR_TURN`] or [`RESUME_TURN`].
pub const TURN_VARIABLE: &str = "FORGE_TURN";
/// The turn in which an agent fixes its result.
pub const REPAIR_TURN: &str = "repair";
/// The turn in which an agent continues after it was interrupted.
pub const RESUME_TURN: &str = "resume";
/// The model that a program is asked to use, if the settings name one.
pub const MODEL_VARIABLE: &str = "FORGE_MODEL";

/// The variables by which build tools find their parts: places and versions, never a secret. Agents get them, and so do
/// the project's own commands.
pub const TOOLCHAIN_VARIABLES: &[&str] = &[
    "ANDROID_HOME",
    "ANDROID_NDK_HOME",
    "ANDROID_SDK_ROOT",
    "AR",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CC",
    "CFLAGS",
    "CONDA_PREFIX",
    "CPATH",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "C_INCLUDE_PATH",
    "DENO_DIR",
    "DOTNET_ROOT",
    "FNM_DIR",
    "FNM_MULTISHELL_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GOTOOLCHAIN",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "LDFLAGS",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "M2_HOME",
    "MAVEN_HOME",
    "MISE_DATA_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
    "NODENV_ROOT",
    "NODE_PATH",
    "NVM_BIN",
    "NVM_DIR",
    "OPAMROOT",
    "OPAM_SWITCH_PREFIX",
    "PERL5LIB",
    "PHPENV_ROOT",
    "PKG_CONFIG_PATH",
    "PLENV_ROOT",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "PYTHONPATH",
    "RBENV_ROOT",
    "RBENV_VERSION",
    "RUBYLIB",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKMAN_DIR",
    "STACK_ROOT",
    "UV_CACHE_DIR",
    "UV_PYTHON_INSTALL_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];
