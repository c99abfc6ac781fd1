// Copies of the sockets that engines listen on, for engines.ts. The system spreads new connections over all of them by
// chance, and resets those that wait in one that is closed: so that of a dead engine stays open, and another engine
// answers what comes to it until the next one at its place listens there. Where no engine is left, connections wait.
import type { EngineProcess, SentHandle } from './engine-process.ts';

/** The socket of a place whose engine died. */
interface Orphan {
  readonly socket: SentHandle;
  /** Answers what comes to it; null while nobody does. */
  keeper: EngineProcess | null;
}

export class ListeningSockets {
  #owned = new Map<EngineProcess, SentHandle>();
  #orphans = new Map<number, Orphan>();

  /** An engine listens at a place. @param socket a copy of its socket, where its listener can share one. */
  onListening(engine: EngineProcess, socket: SentHandle | null): void {
    this.release(engine);
    if (socket !== null) this.#owned.set(engine, socket);
    if (typeof engine.place === 'number') this.#end(engine.place);
  }

  /** It stops to listen, and its successor does already. */
  release(engine: EngineProcess): void {
    this.#owned.get(engine)?.close();
    this.#owned.delete(engine);
  }

  /** It is gone, and nobody had asked it to go. */
  onDeath(engine: EngineProcess): void {
    const socket = this.#owned.get(engine);
    this.#owned.delete(engine);
    if (socket === undefined || typeof engine.place !== 'number') return;
    this.#orphans.get(engine.place)?.socket.close();
    this.#orphans.set(engine.place, { socket, keeper: null });
  }

  /** What the next engine at a place goes on with. */
  ofPlace(place: number): SentHandle | null {
    return this.#orphans.get(place)?.socket ?? null;
  }

  /** Engines came or went: what nobody answers goes to the one that has least to do with others' connections. */
  settle(serving: readonly EngineProcess[]): void {
    const able = serving.filter((engine) => this.#owned.has(engine));
    const kept = (engine: EngineProcess): number =>
      [...this.#orphans.values()].filter(({ keeper }) => keeper === engine).length;
    for (const [place, orphan] of this.#orphans) {
      if (orphan.keeper !== null && able.includes(orphan.keeper)) continue;
      orphan.keeper = able.toSorted((a, b) => kept(a) - kept(b))[0] ?? null;
      orphan.keeper?.share({ type: 'adopt', place }, orphan.socket);
    }
  }

  close(): void {
    for (const engine of this.#owned.keys()) this.release(engine);
    for (const place of this.#orphans.keys()) this.#end(place);
  }

  #end(place: number): void {
    const orphan = this.#orphans.get(place);
    if (orphan === undefined) return;
    this.#orphans.delete(place);
    orphan.keeper?.send({ type: 'let-go', place });
    orphan.socket.close();
  }
}
