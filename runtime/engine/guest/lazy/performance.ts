// performance: the clock and user timing (marks and measures). Entries are kept until they are cleared; beyond a limit,
// the oldest entries are dropped. PerformanceObserver is notified in a microtask. lazy.ts loads this module when it is
// first used.
import { host } from '../host.ts';
import { useModule } from '../modules.ts';
import { DOMException } from '../web/dom-exception.ts';
import { EventTarget } from '../web/events.ts';
import { finishInterface, internal, requireArguments, toDictionary, toDomString } from '../web/webidl.ts';

const ENTRIES_MAX = 1000;

interface EntryValues {
  readonly name: string;
  readonly entryType: 'mark' | 'measure';
  readonly startTime: number;
  readonly duration: number;
  readonly detail: unknown;
}

let detailOf: (entry: PerformanceEntry) => unknown;

export class PerformanceEntry {
  readonly #values: EntryValues;
  constructor(token: unknown = undefined, values: EntryValues | null = null) {
    if (token !== internal) throw new TypeError('Illegal constructor');
    this.#values = values as EntryValues;
  }
  get name(): string {
    return this.#values.name;
  }
  get entryType(): string {
    return this.#values.entryType;
  }
  get startTime(): number {
    return this.#values.startTime;
  }
  get duration(): number {
    return this.#values.duration;
  }
  toJSON(): Record<string, unknown> {
    return { ...this.#values };
  }
  static {
    detailOf = (entry) => entry.#values.detail;
  }
}
finishInterface(PerformanceEntry);

export class PerformanceMark extends PerformanceEntry {
  constructor(name: unknown, options: unknown = undefined) {
    requireArguments(arguments.length, 1, 'PerformanceMark');
    const { startTime, detail } = toDictionary(options, 'Mark options');
    const time = startTime === undefined ? now() : Number(startTime);
    if (Number.isNaN(time)) throw new TypeError('The start time of a mark must be a number');
    if (time < 0) throw new TypeError('The start time of a mark cannot be negative');
    super(internal, {
      name: toDomString(name),
      entryType: 'mark',
      startTime: time,
      duration: 0,
      detail: detail === undefined || detail === null ? null : useModule('messages').structuredClone(detail),
    });
  }
  get detail(): unknown {
    return detailOf(this);
  }
}
finishInterface(PerformanceMark);

export class PerformanceMeasure extends PerformanceEntry {
  get detail(): unknown {
    return detailOf(this);
  }
}
finishInterface(PerformanceMeasure);

let originMs: number | null = null;
let startMs = 0;

/**
 * Milliseconds since the first reading in this isolate, in steps of 5 us, because smaller steps would let a worker
 * measure its neighbors.
 */
function now(): number {
  if (originMs === null) {
    // The added value keeps the first reading above zero.
    startMs = host.now() - 0.01;
    originMs = Date.now();
  }
  return Math.floor((host.now() - startMs) * 200) / 200;
}

let entries: PerformanceEntry[] = [];

function add(entry: PerformanceEntry): void {
  if (entries.length >= ENTRIES_MAX) entries.shift();
  entries.push(entry);
  tellObservers(entry);
}

function sorted(list: readonly PerformanceEntry[]): PerformanceEntry[] {
  return [...list].sort((a, b) => a.startTime - b.startTime);
}

function select(list: readonly PerformanceEntry[], name?: unknown, type?: unknown): PerformanceEntry[] {
  return sorted(
    list.filter((one) => (name === undefined || one.name === name) && (type === undefined || one.entryType === type)),
  );
}

function timeOfMark(mark: unknown): number {
  if (typeof mark === 'number') {
    if (mark < 0) throw new TypeError('A time cannot be negative');
    return mark;
  }
  const name = toDomString(mark);
  const found = entries.findLast((one) => one.entryType === 'mark' && one.name === name);
  if (found === undefined) throw new DOMException(`There is no mark "${name}"`, 'SyntaxError');
  return found.startTime;
}

export class Performance extends EventTarget {
  /** A private field that only Performance objects have. Members that use no other state check it. */
  readonly #brand = true;
  constructor(token: unknown = undefined) {
    if (token !== internal) throw new TypeError('Illegal constructor');
    super();
  }
  now(): number {
    void this.#brand;
    return now();
  }
  get timeOrigin(): number {
    void this.#brand;
    now();
    return originMs!;
  }
  mark(name: unknown, options: unknown = undefined): PerformanceMark {
    void this.#brand;
    requireArguments(arguments.length, 1, 'performance.mark');
    const mark = new PerformanceMark(name, options);
    add(mark);
    return mark;
  }
  measure(name: unknown, startOrOptions: unknown = undefined, endMark: unknown = undefined): PerformanceMeasure {
    void this.#brand;
    requireArguments(arguments.length, 1, 'performance.measure');
    const label = toDomString(name);
    let { start, end, duration, detail } = {
      start: (startOrOptions ?? undefined) as unknown,
      end: endMark,
      duration: undefined as unknown,
      detail: undefined as unknown,
    };
    if (typeof startOrOptions === 'object' && startOrOptions !== null) {
      ({ start, end, duration, detail } = startOrOptions as {
        start: unknown;
        end: unknown;
        duration: unknown;
        detail: unknown;
      });
      const given = [start, end, duration].filter((one) => one !== undefined).length;
      if (given > 0 && endMark !== undefined) throw new TypeError('Measure options and an end mark exclude each other');
      if (given === 3) throw new TypeError('A measure cannot have a start, an end and a duration');
      if (duration !== undefined && given === 1)
        throw new TypeError('The duration of a measure needs its start or end');
    }
    let endTime: number;
    if (end !== undefined) endTime = timeOfMark(end);
    else endTime = start !== undefined && duration !== undefined ? timeOfMark(start) + Number(duration) : now();
    let startTime = 0;
    if (start !== undefined) startTime = timeOfMark(start);
    else if (duration !== undefined) startTime = endTime - Number(duration);
    const kept = detail === undefined || detail === null ? null : useModule('messages').structuredClone(detail);
    const measure = new PerformanceMeasure(internal, {
      name: label,
      entryType: 'measure',
      startTime,
      duration: endTime - startTime,
      detail: kept,
    });
    add(measure);
    return measure;
  }
  clearMarks(name: unknown = undefined): void {
    void this.#brand;
    entries = entries.filter(
      (one) => one.entryType !== 'mark' || (name !== undefined && one.name !== toDomString(name)),
    );
  }
  clearMeasures(name: unknown = undefined): void {
    void this.#brand;
    entries = entries.filter(
      (one) => one.entryType !== 'measure' || (name !== undefined && one.name !== toDomString(name)),
    );
  }
  getEntries(): PerformanceEntry[] {
    void this.#brand;
    return sorted(entries);
  }
  getEntriesByName(name: unknown, type: unknown = undefined): PerformanceEntry[] {
    void this.#brand;
    requireArguments(arguments.length, 1, 'performance.getEntriesByName');
    return select(entries, toDomString(name), type);
  }
  getEntriesByType(type: unknown): PerformanceEntry[] {
    void this.#brand;
    requireArguments(arguments.length, 1, 'performance.getEntriesByType');
    return select(entries, undefined, toDomString(type));
  }
  toJSON(): Record<string, unknown> {
    void this.#brand;
    return { timeOrigin: this.timeOrigin };
  }
}
finishInterface(Performance);

export class PerformanceObserverEntryList {
  readonly #list: readonly PerformanceEntry[];
  constructor(token: unknown = undefined, list: readonly PerformanceEntry[] = []) {
    if (token !== internal) throw new TypeError('Illegal constructor');
    this.#list = list;
  }
  getEntries(): PerformanceEntry[] {
    return sorted(this.#list);
  }
  getEntriesByName(name: unknown, type: unknown = undefined): PerformanceEntry[] {
    requireArguments(arguments.length, 1, 'getEntriesByName');
    return select(this.#list, toDomString(name), type);
  }
  getEntriesByType(type: unknown): PerformanceEntry[] {
    requireArguments(arguments.length, 1, 'getEntriesByType');
    return select(this.#list, undefined, toDomString(type));
  }
}
finishInterface(PerformanceObserverEntryList);

const observers = new Set<PerformanceObserver>();
let tellObserver: (observer: PerformanceObserver, entry: PerformanceEntry) => void;

function tellObservers(entry: PerformanceEntry): void {
  for (const observer of observers) tellObserver(observer, entry);
}

export class PerformanceObserver {
  readonly #callback: (list: PerformanceObserverEntryList, observer: PerformanceObserver) => void;
  #types: readonly string[] = [];
  #mode: 'entryTypes' | 'type' | null = null;
  #queue: PerformanceEntry[] = [];

  static get supportedEntryTypes(): readonly string[] {
    return supportedTypes;
  }

  constructor(callback: (list: PerformanceObserverEntryList, observer: PerformanceObserver) => void) {
    if (typeof callback !== 'function') throw new TypeError('PerformanceObserver needs a function');
    this.#callback = callback;
  }
  observe(options: unknown = undefined): void {
    const { entryTypes, type, buffered } = toDictionary(options, 'Observer options');
    if (entryTypes === undefined && type === undefined) throw new TypeError('Observer options need entryTypes or type');
    if (entryTypes !== undefined && (type !== undefined || buffered !== undefined))
      throw new TypeError('Observer options can only contain entryTypes');
    const mode = entryTypes === undefined ? 'type' : 'entryTypes';
    let wanted: string[];
    if (mode === 'type') wanted = [...this.#types, toDomString(type)];
    else if (typeof entryTypes === 'object' && entryTypes !== null)
      wanted = [...(entryTypes as Iterable<unknown>)].map(toDomString);
    else throw new TypeError('entryTypes must be a sequence');
    if (this.#mode !== null && this.#mode !== mode)
      throw new DOMException(`An observer of ${this.#mode} cannot observe ${mode} too`, 'InvalidModificationError');
    this.#mode = mode;
    this.#types = wanted.filter((one) => supportedTypes.includes(one));
    if (this.#types.length === 0) return;
    observers.add(this);
    if (type !== undefined && Boolean(buffered))
      for (const entry of entries) if (entry.entryType === type) tellObserver(this, entry);
  }
  disconnect(): void {
    observers.delete(this);
    this.#queue = [];
    this.#types = [];
    this.#mode = null;
  }
  takeRecords(): PerformanceEntry[] {
    const taken = this.#queue;
    this.#queue = [];
    return taken;
  }
  static {
    tellObserver = (observer, entry) => {
      if (!observer.#types.includes(entry.entryType)) return;
      observer.#queue.push(entry);
      if (observer.#queue.length > 1) return;
      void Promise.resolve().then(() => {
        const list = observer.takeRecords();
        if (list.length > 0)
          observer.#callback.call(observer, new PerformanceObserverEntryList(internal, list), observer);
      });
    };
  }
}
finishInterface(PerformanceObserver);
const supportedTypes: readonly string[] = Object.freeze(['mark', 'measure']);

export const performance = new Performance(internal);
