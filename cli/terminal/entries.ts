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
  /** Command without a further word. */
  readonly byDefault?: string;
  /** Command for words that name none. */
  readonly otherwise?: string;
}

export type Entry = Leaf | Group;
