// What the tree of commands is made of. Types only: help and shell completion know them, commands/tree.ts has the tree.
import type { CommandDef } from 'citty';

/** One command. */
export interface Leaf {
  readonly summary: string;
  readonly aliases?: readonly string[];
  /** Words that it does not know are another program's. */
  readonly forwards?: true;
  readonly load: () => Promise<{ command: CommandDef<any> }>;
}

/** Commands under one word. */
export interface Group {
  readonly summary: string;
  readonly aliases?: readonly string[];
  readonly commands: Readonly<Record<string, Entry>>;
  /** Which of them is called without a further word. */
  readonly byDefault?: string;
  /** Which of them is called with words that name none. */
  readonly otherwise?: string;
}

export type Entry = Leaf | Group;
