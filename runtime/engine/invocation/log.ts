// The log of a deployment: console lines and errors, with stacks that are mapped to the author's sources.
import { FlattenMap, originalPositionFor, sourceContentFor, type TraceMap } from '@jridgewell/trace-mapping';
import { codeFrame } from '#core/code-frame.ts';

/** A line of a deployment's log. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
  /** The invocation of the line; null for code outside of invocations. */
  readonly invocation: string | null;
  /** Trace of the request, or null. */
  readonly traceId: string | null;
}

// Matches `at name (worker.js:10:5)` and `at worker.js:10:5`; the bundle is the only file of a worker.
const POSITION = /\bworker\.js:(\d+):(\d+)/g;
// Also matches a mapped frame, such as `at name (src/index.ts:3:9)`.
const PLACE = /(?:\(|\bat (?:async )?)([^\s()]+):(\d+):(\d+)\)?$/gm;
const BUNDLE = 'worker.js';
// Matches sources that are not the project's own files.
const OUTSIDE = /^(?:\.\.\/|\/|[A-Za-z]:|platform:|node_modules\/)/;
// Matches frames of the platform's own guest code, which are useless to an author.
const GUEST_FRAME = /^\s*at .*\bplatform:[a-z]+(?::\d+)*\)?\s*$/;

/** A position in a worker's own sources, with the surrounding lines. */
export interface SourceFrame {
  /** Path of the file, relative to the project. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly frame: string;
}

/** Maps positions in a worker's stack traces; reads the source map on first use. */
export class StackMapper {
  #readMap: () => string | null;
  #map: TraceMap | null | undefined = undefined;

  constructor(readMap: () => string | null) {
    this.#readMap = readMap;
  }

  /** Whether there is a readable map. */
  get hasMap(): boolean {
    return this.#read() !== null;
  }

  /** Replaces `worker.js:line:column` in a text by source positions, and removes frames of the guest. */
  map(text: string): string {
    if (!text.includes('worker.js:') && !text.includes('platform:')) return text;
    const lines = text.split('\n').filter((line) => !GUEST_FRAME.test(line));
    return lines
      .join('\n')
      .replace(POSITION, (all, line: string, column: string) => this.#position(Number(line), Number(column)) ?? all);
  }

  /**
   * The first position of a stack in the project itself. The sources come from the source map; no other file is read.
   */
  frame(stack: string): SourceFrame | null {
    const map = this.#read();
    if (map === null) return null;
    for (const [, file, line, column] of stack.matchAll(PLACE)) {
      const place =
        file === BUNDLE
          ? originalPositionFor(map, { line: Number(line), column: Math.max(0, Number(column) - 1) })
          : { source: map.sources.includes(file!) ? file! : null, line: Number(line), column: Number(column) - 1 };
      if (place.source === null || OUTSIDE.test(place.source)) continue;
      const text = sourceContentFor(map, place.source);
      if (text === null) continue;
      return {
        file: place.source,
        line: place.line,
        column: place.column + 1,
        frame: codeFrame(text, place.line, place.column + 1),
      };
    }
    return null;
  }

  #position(line: number, column: number): string | null {
    const map = this.#read();
    if (map === null) return null;
    const {
      source,
      line: sourceLine,
      column: sourceColumn,
    } = originalPositionFor(map, { line, column: Math.max(0, column - 1) });
    return source === null ? null : `${source}:${sourceLine}:${sourceColumn + 1}`;
  }

  #read(): TraceMap | null {
    if (this.#map === undefined) this.#map = this.#load();
    return this.#map;
  }

  #load(): TraceMap | null {
    try {
      const text = this.#readMap();
      return text === null ? null : new FlattenMap(text);
    } catch {
      return null;
    }
  }
}
