// Parses server-sent events from bytes; characters, line ends and events may be split anywhere. Pure.
import { Failure } from '#core/failure.ts';
import type { SseEvent } from '../contract/wire.ts';

/** Takes bytes and returns events. Comments, ids and retry times are ignored. */
export class SseReader {
  readonly #decoder = new TextDecoder();
  readonly #charactersMax: number;
  /** The unfinished line; grows as a rope and is read once. */
  #line = '';
  /** Whether the next line feed belongs to the previous carriage return. */
  #skipsLineFeed = false;
  #event = '';
  #data: string[] = [];
  #dataLength = 0;

  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax;
  }

  /** @throws {Failure} `unreadable_answer` */
  push(bytes: Uint8Array): SseEvent[] {
    return this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The last event, if the stream ended without its blank line; it may be incomplete. Null: none. */
  end(): SseEvent | null {
    const events = this.#take(this.#decoder.decode());
    if (this.#line !== '') this.#endLine('', events);
    this.#dispatch(events);
    return events[0] ?? null;
  }

  #take(text: string): SseEvent[] {
    const events: SseEvent[] = [];
    let from = this.#skipsLineFeed && text.startsWith('\n') ? 1 : 0;
    if (text !== '') this.#skipsLineFeed = false;
    let back = text.indexOf('\r', from);
    for (;;) {
      // Carriage returns are only searched again after the last match was passed, so a text without carriage returns is
      // searched once.
      if (back !== -1 && back < from) back = text.indexOf('\r', from);
      const feed = text.indexOf('\n', from);
      const at = back !== -1 && (feed === -1 || back < feed) ? back : feed;
      if (at === -1) break;
      this.#endLine(text.slice(from, at), events);
      from = at + 1;
      if (text[at] !== '\r') continue;
      if (from === text.length) this.#skipsLineFeed = true;
      else if (text[from] === '\n') from += 1;
    }
    if (from < text.length) this.#line += text.slice(from);
    this.#check();
    return events;
  }

  #endLine(rest: string, events: SseEvent[]): void {
    const line = this.#line + rest;
    this.#line = '';
    if (line === '') return this.#dispatch(events);
    const colon = line.indexOf(':');
    if (colon === 0) return undefined;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') this.#event = value;
    if (field === 'data') {
      this.#data.push(value);
      this.#dataLength += value.length;
      this.#check();
    }
    return undefined;
  }

  #dispatch(events: SseEvent[]): void {
    if (this.#data.length > 0) events.push({ event: this.#event, data: this.#data.join('\n') });
    this.#event = '';
    this.#data = [];
    this.#dataLength = 0;
  }

  #check(): void {
    if (this.#line.length + this.#dataLength + this.#data.length > this.#charactersMax)
      throw new Failure('unreadable_answer', `An event is longer than ${this.#charactersMax} characters`);
  }
}
