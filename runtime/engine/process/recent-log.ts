// The last log lines of each project that this engine served, for `platform logs`. They are in memory and limited; the
// oldest lines are dropped first. main.ts adds lines next to the log, and the engine's Unix socket serves them.
import { errorMessage } from '#core/errors.ts';
import type { RequestRecord } from '../invocation/request-record.ts';
import type { LogLine } from '../invocation/log.ts';
import { outcomeLabel, outcomeLevel } from '../invocation/outcome.ts';

/** A line as `platform logs` shows it. */
interface RecentLine {
  /** Number of the line, which increases over all lines of the engine. */
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly level: LogLine['level'];
  readonly deployment: string;
  readonly invocation: string | null;
  readonly text: string;
}

/** Approximate memory of a line in addition to its text. */
const LINE_BYTES = 200;

interface Project {
  lines: RecentLine[];
  bytes: number;
}

/** The lines of an engine. */
export class RecentLog {
  #projects = new Map<string, Project>();
  #bytesMax: number;
  #projectsMax: number;
  #seq = 0;

  /** @param bounds maximum bytes per project, and maximum number of projects (those that wrote last). */
  constructor(bounds: { readonly bytesMax: number; readonly projectsMax: number }) {
    this.#bytesMax = bounds.bytesMax;
    this.#projectsMax = bounds.projectsMax;
  }

  line(project: string, deployment: string, { level, text, invocation }: LogLine): void {
    this.#add(project, { deployment, level, text, invocation });
  }

  /** Records a failed invocation, or any invocation if all are recorded. */
  ended({
    project,
    deployment,
    invocation,
    kind,
    method,
    target,
    status,
    outcome,
    cpuMs,
    wallMs,
  }: RequestRecord): void {
    const what = kind === 'http' ? `${method} ${target.split('?', 1)[0]} ${status}` : kind;
    const why =
      outcome.kind === 'ok'
        ? outcomeLabel(outcome)
        : `${outcome.code}: ${errorMessage(outcome.code, outcome.details).split('\n', 1)[0]}`;
    const text = `${what} ${why} (CPU ${cpuMs.toFixed(1)} ms, wall ${wallMs.toFixed(0)} ms)`;
    this.#add(project, { deployment, level: outcomeLevel(outcome, status), text, invocation });
  }

  /** The lines of a project after a number, and the number for the next call. */
  read(project: string, after: number): { readonly next: number; readonly lines: readonly RecentLine[] } {
    const lines = this.#projects.get(project)?.lines ?? [];
    return { next: this.#seq, lines: lines.filter(({ seq }) => seq > after) };
  }

  #add(name: string, line: Omit<RecentLine, 'seq' | 'time'>): void {
    let project = this.#projects.get(name);
    if (project === undefined) {
      project = { lines: [], bytes: 0 };
      if (this.#projects.size >= this.#projectsMax) this.#projects.delete(this.#projects.keys().next().value!);
    } else this.#projects.delete(name);
    // The projects are in the order of their last line.
    this.#projects.set(name, project);
    const text = line.text.length > this.#bytesMax / 2 ? `${line.text.slice(0, this.#bytesMax / 2)} ...` : line.text;
    project.lines.push({ seq: ++this.#seq, time: Date.now(), ...line, text });
    project.bytes += text.length + LINE_BYTES;
    if (project.bytes <= this.#bytesMax) return;
    // A quarter of the lines is removed at a time, because removing a line from the front moves all others.
    let count = 0;
    while (project.bytes > this.#bytesMax * 0.75 && count < project.lines.length - 1)
      project.bytes -= project.lines[count++]!.text.length + LINE_BYTES;
    project.lines = project.lines.slice(count);
  }
}
