// Types of the command tree (commands/tree.ts), for help and shell completion.
import type { CommandDef } from 'citty';

/** A command. */
export interface Leaf {
  readonly summary: string;
  readonly aliases?: readonly string[];
  /** Passes unknown arguments to another program. */
  readonly forwards?: true;
  readonly load: () => Promise<{ command: CommandDef<any> }>;
}

/** A group of commands. */
export interface Group {
  readonly summary: string;
  readonly aliases?: readonly string[];
  readonly commands: Readonly<Record<string, Entry>>;
  /** Name of the command that runs without a further word. */
  readonly byDefault?: string;
  /** Name of the command that runs if the next word names no command. */
  readonly otherwise?: string;
}

export type Entry = Leaf | Group;
