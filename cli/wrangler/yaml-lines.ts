// Collects the lines of a platform.yaml with the comments of a Wrangler configuration, and notes on keys. Pure.
import { bindingNameOf, resourceNameOf } from './names.ts';
import { textOf } from './values.ts';
import type { WranglerFile } from './read-wrangler.ts';

/** An unsupported or different key, with advice. */
interface Note {
  readonly key: string;
  readonly note: string;
}

/** The lines and notes so far, and how to add to them. */
export interface Writer {
  readonly lines: readonly string[];
  readonly notes: readonly Note[];
  /** Adds a key of platform.yaml with its lines, after the comments of `from`. */
  add(from: readonly string[], ...lines: string[]): void;
  note(key: string, note: string): void;
  /** A valid binding name, with a note if it was changed. `as`: the rule of the key, by default that of bindings. */
  binding(key: string, value: unknown, as?: (name: string) => string): string | null;
  resource(key: string, value: unknown, otherwise: string): string;
}

export function createWriter(comments: WranglerFile['comments']): Writer {
  const lines: string[] = [];
  const notes: Note[] = [];
  const told = new Set<string>();
  return {
    lines,
    notes,
    add(from, ...added) {
      for (const key of from) {
        if (!told.has(key)) for (const line of comments[key] ?? []) lines.push(`# ${oneLine(line)}`);
        told.add(key);
      }
      lines.push(...added);
    },
    note: (key, note) => void notes.push({ key, note }),
    binding(key, value, as = bindingNameOf) {
      const made = as(textOf(value));
      if (made === '') {
        notes.push({ key, note: 'has no valid binding name: omitted' });
        return null;
      }
      if (made !== value) notes.push({ key, note: `the binding ${textOf(value)} is named ${made} here` });
      return made;
    },
    resource(key, value, otherwise) {
      const made = resourceNameOf(typeof value === 'string' && value !== '' ? value : otherwise);
      return made === '' ? otherwise.toLowerCase() : made;
    },
  };
}

/** Removes line breaks from a comment. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trimEnd();
}

/** A YAML scalar: plain if unambiguous, else quoted. */
export function scalar(text: string): string {
  const isPlain = /^[A-Za-z_./][\w./ -]*$/.test(text) && !/ $|^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text);
  if (isPlain) return text;
  // Line breaks and control characters have an escape in double quotes only.
  return /[^\x20-\x7e]/.test(text) ? JSON.stringify(text) : `'${text.replaceAll("'", "''")}'`;
}
