// What the agent is told by the backend that starts it.

/** Settings of one agent. */
export interface AgentSettings {
  /** The folder that callers know as `/workspace`. */
  readonly workspace: string;
  /** Whether file operations reach nothing outside the workspace: where its machine holds more than a sandbox. */
  readonly confined: boolean;
  /** Of every command, besides those of calls. */
  readonly variables: Readonly<Record<string, string>>;
  /** Where files lie that have secrets, whichever can be used first. */
  readonly secretFolders: readonly string[];
  /** Stands in the environment of everything it starts, by which all of it is found and ended. */
  readonly mark: string;
}

/** The variable that has {@link AgentSettings.mark}, and `.` and the id of the command. */
export const MARK_VARIABLE = 'PLATFORM_SANDBOX';
