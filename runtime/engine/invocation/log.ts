// The deployment's log: console lines and what went wrong, with stacks mapped to the sources the author wrote.
import { FlattenMap, originalPositionFor, sourceContentFor, type TraceMap } from '@jridgewell/trace-mapping';
import { codeFrame } from '#core/code-frame.ts';

/** A line of a deployment's log. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
  /** Invocation it belongs to; null for code outside every one. */
  readonly invocation: string | null;
  /** Trace of its request; null without one. */
  readonly traceId: string | null;
}

// `at name (worker.js:10:5)`, `at worker.js:10:5`: the bundle is the only file of a worker.
const POSITION = /\bworker\.js:(\d+):(\d+)/g;
// Also of a text that is mapped already: `at name (src/index.ts:3:9)`.
const PLACE = /(?:\(|\bat (?:async )?)([^\s()]+):(\d+):(\d+)\)?$/gm;
const BUNDLE = 'worker.js';
// Sources that are not the project's own files.
const OUTSIDE = /^(?:\.\.\/|\/|[A-Za-z]:|platform:|node_modules\/)/;
// Frames of the platform's own guest code say nothing to an author.
const GUEST_FRAME = /^\s*at .*\bplatform:[a-z]+(?::\d+)*\)?\s*$/;

/** A place in a worker's own sources, with the lines around it. */
export interface SourceFrame {
  /** Relative to the project. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly frame: string;
}

/** Maps positions in a worker's stack traces; reads the source map when the first one comes. */
export class StackMapper {
  #readMap: () => string | null;
  #map: TraceMap | null | undefined = undefined;

  constructor(readMap: () => string | null) {
    this.#readMap = readMap;
  }

  /** Whether there is a map that can be read. */
  get hasMap(): boolean {
    return this.#read() !== null;
  }

  /** The text with `worker.js:line:column` replaced by source positions, and frames of the guest left out. */
  map(text: string): string {
    if (!text.includes('worker.js:') && !text.includes('platform:')) return text;
    const lines = text.split('\n').filter((line) => !GUEST_FRAME.test(line));
    return lines
      .join('\n')
      .replace(POSITION, (all, line: string, column: string) => this.#position(Number(line), Number(column)) ?? all);
  }

  /** The first place of a stack that lies in the project itself. Sources come from the map alone: no file is read. */
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
