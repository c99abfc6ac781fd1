// Runs the replicator (replica/replicator.ts): restarts its process when it exits, sends it requests and reads its
// responses. Databases are served while the replicator is not running.
import { fork, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { DatabaseLimits } from '#core/limits.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import { REPLICAS_FILE } from '#core/process/replica-state.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import { isDatabaseName } from '../protocol/database-name.ts';
import { LONG_AGO, type Moment } from '../protocol/lease-clock.ts';
import type {
  ReplicaFigures,
  ReplicatorMessage,
  ReplicatorOptions,
  ReplicatorRequest,
} from '../protocol/replicator-messages.ts';

interface ReplicationDeps {
  readonly directory: string;
  readonly dataFolder: string | null;
  readonly limits: DatabaseLimits;
  /** Variables of the bucket, and other variables that it needs. */
  readonly variables: Readonly<Record<string, string>>;
  /** Whether other services of the installation use the same bucket. */
  readonly isShared: boolean;
  report(message: string): void;
}

/** A request without its id. */
type Question<Request> = Request extends { readonly id: number } ? Omit<Request, 'id'> : never;

type Homes = readonly (readonly [project: string, fence: number])[] | null;

/** Name of the file that marks a complete folder: databases that are missing in such a folder were deleted. */
const MARKER = '.replica-home';
const HEAP_MB_MAX = 512;
const [RESTART_MS, FILL_RETRY_MS] = [1000, 5000];
const FINISH_MS_MAX = 5000;
const NOTE_MS = 10_000;

export class Replication {
  readonly #deps: ReplicationDeps;
  #child: ChildProcess;
  #url = '';
  #until: Moment | null = LONG_AGO;
  #homes: Map<string, number> | null = null;
  #ids = 0;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #figures: ReplicaFigures | null = null;
  #closed = false;
  #notedAt = 0;

  constructor(deps: ReplicationDeps) {
    this.#deps = deps;
    this.#child = this.#start();
  }

  /** Process id of the replicator; empty while it is being restarted. */
  get pid(): number[] {
    return this.#child.pid === undefined || !this.#child.connected ? [] : [this.#child.pid];
  }

  get figures(): ReplicaFigures | null {
    return this.#figures;
  }

  #start(): ChildProcess {
    const { directory, dataFolder, limits, variables, isShared, report } = this.#deps;
    const script = path.join(import.meta.dirname, `../replica/replicator${path.extname(import.meta.filename)}`);
    const [program, ...before] = nodeCommand();
    const child = fork(
      script,
      [JSON.stringify({ directory, dataFolder, limits, isShared } satisfies ReplicatorOptions)],
      {
        execPath: program,
        execArgv: [...before, '--disable-warning=ExperimentalWarning', `--max-old-space-size=${HEAP_MB_MAX}`],
        env: variables,
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      },
    );
    child.on('message', (message: ReplicatorMessage) => this.#hear(message));
    child.on('error', (error) => report(`the replicator failed: ${error.message}`));
    child.on('close', (code, signal) => {
      for (const { reject } of this.#waiting.values())
        reject(new PlatformError('database_unavailable', { reason: 'the replicator ended' }));
      this.#waiting.clear();
      if (this.#closed) return;
      report(`the replicator exited (${signal ?? `exit code ${code}`}): restarting`);
      setTimeout(() => {
        if (!this.#closed) this.#child = this.#start();
      }, RESTART_MS);
    });
    if (this.#deps.isShared)
      child.send({
        type: 'homes',
        until: this.#until,
        homes: this.#homes === null ? null : [...this.#homes],
      } satisfies ReplicatorRequest);
    if (this.#url !== '') child.send({ type: 'postgres', url: this.#url } satisfies ReplicatorRequest);
    return child;
  }

  #hear(message: ReplicatorMessage): void {
    if (message.type === 'report') this.#deps.report(message.message);
    else if (message.type === 'figures') this.#note(message);
    else {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.type === 'answer') waiting?.resolve(message.value);
      else if (message.isRefusal) waiting?.reject(new SqlRefusal('SQLITE_CANTOPEN', message.reason));
      else waiting?.reject(new PlatformError('database_unavailable', { reason: message.reason }));
    }
  }

  /** The state is written for `platform doctor`, which has no other access to it. */
  #note(figures: ReplicaFigures): void {
    const isNews = this.#figures?.problem !== figures.problem;
    this.#figures = figures;
    const now = Date.now();
    if (!isNews && now - this.#notedAt < NOTE_MS) return;
    this.#notedAt = now;
    const { lagMs, waiting, problem } = figures;
    const file = path.join(this.#deps.directory, REPLICAS_FILE);
    try {
      writeFileSync(`${file}.new`, JSON.stringify({ at: new Date(now).toISOString(), lagMs, waiting, problem }));
      renameSync(`${file}.new`, file);
    } catch {
      // The disk is full; the next write tries again.
    }
  }

  #send(request: ReplicatorRequest): void {
    // A process that is being restarted checks all files.
    if (this.#child.connected) this.#child.send(request, () => {});
  }

  async #ask(question: Question<ReplicatorRequest>): Promise<unknown> {
    if (!this.#child.connected)
      throw new PlatformError('database_unavailable', { reason: 'the replicator is starting' });
    const id = ++this.#ids;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    this.#send({ ...question, id } as ReplicatorRequest);
    return answer.promise;
  }

  changed(name: string): void {
    this.#send({ type: 'changed', name });
  }

  usePostgres(url: string): void {
    this.#url = url;
    this.#send({ type: 'postgres', url });
  }

  /**
   * Sets which projects the replicator may store, and until when. Sets which projects the replicator may store, and
   * until when. Without `homes`, the projects stay the same.
   */
  mayStore(until: Moment | null, homes?: Homes): void {
    this.#until = until;
    if (homes !== undefined) this.#homes = homes === null ? null : new Map(homes);
    this.#send({ type: 'homes', until, ...(homes !== undefined && { homes }) });
  }

  /** Called when the service is now the home of a project; null means that it no longer is. */
  setHome(project: string, fence: number | null): void {
    if (fence === null) this.#homes?.delete(project);
    else this.#homes?.set(project, fence);
    this.#send({ type: 'home', project, fence });
  }

  /** Stores a project and closes its files. */
  async leave(project: string): Promise<void> {
    await this.#ask({ type: 'leave', project });
  }

  /**
   * Resolves when all committed changes of a database are stored. @throws {PlatformError} with the reason if some
   * changes are not stored.
   */
  async confirm(name: string): Promise<void> {
    await this.#ask({ type: 'confirm', name });
  }

  /** Restores the missing databases of a project. @returns how many. */
  async fillProject(project: string): Promise<number> {
    return ((await this.#ask({ type: 'fill', project })) as { restored: number }).restored;
  }

  range(name: string): Promise<unknown> {
    return this.#ask({ type: 'range', name });
  }

  /** @throws {SqlRefusal} if the replica does not include the moment, or a database of that name exists. */
  async restore(name: string, args: Record<string, unknown>): Promise<unknown> {
    const { at, resource } = args;
    const other = `${name.slice(0, name.indexOf('/'))}/${String(resource)}`;
    if (typeof at !== 'number' || !Number.isSafeInteger(at) || !isDatabaseName(other))
      throw new RangeError('a moment and the name of a copy are needed');
    const target = path.join(this.#deps.directory, `${other}.sqlite`);
    if (existsSync(target)) throw new SqlRefusal('SQLITE_MISUSE', 'there is a database of that name already');
    return this.#ask({ type: 'restore', name, at, target });
  }

  /**
   * Restores all databases of the replica into a folder that never had databases; retries until it succeeds. Folders
   * that had databases before are not changed.
   */
  async fill(): Promise<void> {
    const { directory, report } = this.#deps;
    const marker = path.join(directory, MARKER);
    if (existsSync(marker)) return;
    const hasDatabases = readdirSync(directory, { recursive: true }).some((name) => String(name).endsWith('.sqlite'));
    for (let attempt = 1; !hasDatabases && !this.#closed; attempt++)
      try {
        const { restored } = (await this.#ask({ type: 'fill', project: null })) as { restored: number };
        if (restored > 0) report(`restored ${restored} databases from their replicas`);
        break;
      } catch (error) {
        if (attempt === 1) report(`databases wait for their replicas: ${reasonOf(error)}`);
        await new Promise((resolve) => setTimeout(resolve, FILL_RETRY_MS));
      }
    if (!this.#closed) this.markFilled();
  }

  /** From here on, databases missing in the folder count as deleted. */
  markFilled(): void {
    const marker = path.join(this.#deps.directory, MARKER);
    if (existsSync(marker)) return;
    writeFileSync(marker, `${new Date().toISOString()}\n`, { mode: 0o600 });
  }

  /** Stores the remaining changes, as far as time allows. */
  async close(): Promise<void> {
    const child = this.#child;
    this.#closed = true;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('close', resolve));
    const over = new Promise((resolve) => setTimeout(resolve, FINISH_MS_MAX).unref());
    if (child.connected) await Promise.race([this.#ask({ type: 'finish' }).catch(() => {}), over]);
    child.kill('SIGKILL');
    await exited;
  }
}

function reasonOf(error: unknown): string {
  return error instanceof PlatformError ? String(error.details['reason'] ?? error.message) : (error as Error).message;
}
