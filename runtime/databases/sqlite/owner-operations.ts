// The platform's operations on one database: migrations, the outbox, backups and branches. Called by database-file.ts,
// which decides when.
import { statfsSync } from 'node:fs';
import path from 'node:path';
import { SqlRefusal } from '#core/database-request.ts';
import type { DatabaseLimits } from '#core/limits.ts';
import { FreeSpace } from '#core/process/free-space.ts';
import type { StorageGuard } from '#core/storage-left.ts';
import { ops } from '../protocol/frames.ts';
import type { Connection } from './connection.ts';
import { backupTo, branchTo, isThere } from './copies.ts';
import { knownMigrations, migrate } from './migrations.ts';
import { pendingInOutbox, removeFromOutbox } from './outbox-rows.ts';
import { textOf, type Statements } from './statements.ts';

/** Dependencies of the operations. */
export interface OwnerOperationsDeps {
  readonly path: string;
  /** Namespace that owns the database. */
  readonly namespace: string;
  readonly limits: DatabaseLimits;
  /** Free space of the disk. */
  readonly space: FreeSpace;
  /** Remaining storage of organizations. */
  readonly storage: StorageGuard;
  /** The path of another database of the same project, for a branch. */
  pathOf(name: string): string;
}

export class OwnerOperations {
  readonly #deps: OwnerOperationsDeps;
  readonly #main: Connection;
  readonly #statements: Statements;
  #copying = 0;
  #exports = 0;
  /** Branches being made, by path. */
  readonly #branches = new Map<string, Promise<string>>();

  constructor(deps: OwnerOperationsDeps, main: Connection, statements: Statements) {
    this.#deps = deps;
    this.#main = main;
    this.#statements = statements;
  }

  /** Whether a copy is in progress, during which the file must not be closed. */
  get isCopying(): boolean {
    return this.#copying > 0;
  }

  /** @returns the result as JSON. @throws {SqlRefusal} also if there is no such operation. */
  run(op: number, args: readonly unknown[]): string | Promise<string> {
    const { limits } = this.#deps;
    switch (op) {
      case ops.migrate: {
        const applied = migrate(this.#main, args, limits);
        this.#statements.touched(this.#main, true);
        return JSON.stringify({ applied });
      }
      case ops.migrations:
        return JSON.stringify(knownMigrations(this.#main, args));
      case ops.pending:
        return pendingInOutbox(this.#main);
      case ops.dequeue:
        if (removeFromOutbox(this.#main, args[0])) this.#statements.touched(this.#main, false);
        return '{}';
      case ops.backup:
        return this.#export(textOf(args[0]));
      case ops.branch:
        return this.#branch(this.#deps.pathOf(textOf(args[0])), args[1] === true);
      default:
        throw new SqlRefusal('SQLITE_MISUSE', `there is no operation ${op}`);
    }
  }

  /** Copies the database to a file, perhaps on another disk. */
  #export(target: string): Promise<string> {
    const { path: file, limits } = this.#deps;
    if (this.#exports >= limits.exportsMax)
      throw new SqlRefusal('SQLITE_BUSY', 'another export of the database is running: try again when it has ended');
    const folder = path.dirname(target);
    const { bytes } = this.#main;
    const checkRoom = (space: FreeSpace): void => {
      if (space.isLow) throw new SqlRefusal('SQLITE_FULL', `the disk has no room for a copy of ${bytes} bytes`);
    };
    checkRoom(new FreeSpace(folder, bytes + limits.diskFreeBytesMin, statfsSync));
    // Other copies may fill the disk meanwhile.
    const space = new FreeSpace(folder, limits.diskFreeBytesMin, statfsSync);
    this.#exports++;
    const copy = backupTo(file, target, () => checkRoom(space)).finally(() => this.#exports--);
    return this.#copy(copy.then((copied) => JSON.stringify({ bytes: copied })));
  }

  /** Engines that request the same branch at the same time share the copy. */
  #branch(target: string, unlessThere: boolean): Promise<string> {
    const underWay = unlessThere ? this.#branches.get(target) : undefined;
    if (underWay !== undefined) return underWay;
    const { path: file, limits, space, storage, namespace } = this.#deps;
    if (space.isLow) throw new SqlRefusal('SQLITE_FULL', 'the disk is full: no copy is made');
    // If a branch already exists, it is not copied again.
    if (!unlessThere || !isThere(target)) storage.take(namespace, this.#main.bytes);
    const copy = branchTo(this.#main, file, target, { branchBytesMax: limits.branchBytesMax, unlessThere });
    const branch = this.#copy(copy.then((made) => JSON.stringify(made)));
    this.#branches.set(target, branch);
    const over = (): void => void this.#branches.delete(target);
    branch.then(over, over);
    return branch;
  }

  #copy(copy: Promise<string>): Promise<string> {
    this.#copying++;
    return copy.finally(() => this.#copying--);
  }
}
