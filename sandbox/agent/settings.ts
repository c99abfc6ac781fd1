// Settings that the backend passes to the agent it starts.

/** Settings of one agent. */
export interface AgentSettings {
  /** The folder shown to callers as `/workspace`. */
  readonly workspace: string;
  /** Whether file operations are limited to the workspace, for machines that are not dedicated to a sandbox. */
  readonly confined: boolean;
  /** Variables of every command, in addition to the variables of a call. */
  readonly variables: Readonly<Record<string, string>>;
  /** Candidate folders for files with secrets; the first usable folder is used. */
  readonly secretFolders: readonly string[];
  /** Set in the environment of all processes that the agent starts, to find and kill them. */
  readonly mark: string;
}

/** The variable with {@link AgentSettings.mark}, followed by `.` and the command's id. */
export const MARK_VARIABLE = 'PLATFORM_SANDBOX';
