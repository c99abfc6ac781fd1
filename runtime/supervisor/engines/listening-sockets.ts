// Copies of the engines' listening sockets, for engines.ts. The system distributes new connections randomly over all
// sockets, and resets connections that wait in a closed socket. So a dead engine's socket stays open, and another
// engine accepts its connections until its replacement listens. If no engine is left, connections wait. A socket that
// systemd opened is shared by all engines, so it never lacks an engine.
import type { SentHandle } from '#core/process/socket-activation.ts';
import type { EngineProcess } from './engine-process.ts';

/** The socket of a slot whose engine died. */
interface Orphan {
  readonly socket: SentHandle;
  /** The engine that accepts the socket's connections; null while no engine does. */
  keeper: EngineProcess | null;
}

export class ListeningSockets {
  #shared: SentHandle | null;
  #owned = new Map<EngineProcess, SentHandle>();
  #orphans = new Map<number, Orphan>();

  constructor(shared: SentHandle | null) {
    this.#shared = shared;
  }

  /**
   * Called when an engine listens at a slot. @param socket a copy of the engine's socket, if the engine's listener can
   * share one.
   */
  onListening(engine: EngineProcess, socket: SentHandle | null): void {
    this.release(engine);
    if (this.#shared !== null) return socket?.close();
    if (socket !== null) this.#owned.set(engine, socket);
    if (typeof engine.place === 'number') this.#end(engine.place);
  }

  /** Called when an engine stops listening because its successor already listens. */
  release(engine: EngineProcess): void {
    this.#owned.get(engine)?.close();
    this.#owned.delete(engine);
  }

  /** It ended unexpectedly. */
  onDeath(engine: EngineProcess): void {
    const socket = this.#owned.get(engine);
    this.#owned.delete(engine);
    if (socket === undefined || typeof engine.place !== 'number') return;
    this.#orphans.get(engine.place)?.socket.close();
    this.#orphans.set(engine.place, { socket, keeper: null });
  }

  /** The socket for the next engine at a slot. */
  ofPlace(place: number): SentHandle | null {
    return this.#shared ?? this.#orphans.get(place)?.socket ?? null;
  }

  /**
   * Called when engines have started or stopped: assigns sockets without an engine to the engine that has the fewest of
   * them.
   */
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
    this.#shared?.close();
  }

  #end(place: number): void {
    const orphan = this.#orphans.get(place);
    if (orphan === undefined) return;
    this.#orphans.delete(place);
    orphan.keeper?.send({ type: 'let-go', place });
    orphan.socket.close();
  }
}
