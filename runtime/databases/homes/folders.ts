// The folders of projects on this machine's disk: existing folders, folders of projects that moved to another service,
// and folders that are being received. Also manages the file that names the service to which this folder belongs.
// Called by homes.ts and moves.ts.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isDatabaseName, projectOf } from '../protocol/database-name.ts';

/** The identity of a service, stored beside its databases. */
export interface Identity {
  readonly id: string;
  /** Whether another service may have taken over the projects of this service while it was down. */
  readonly isLeased: boolean;
  /** Whether all projects of the folder are recorded in Postgres. */
  readonly isRegistered: boolean;
}

const IDENTITY = '.database-service.json';
/** Folders of former homes, which still contain changes that were not replicated. */
const FORMER = '.former';
const DAY_MS = 86_400_000;

/** A file of a project, as `<namespace>/<file>`. */
export interface ProjectFile {
  readonly path: string;
  readonly bytes: number;
}

/** Files of a database that the new home creates itself. */
const LEFT_OUT = /(?:-shm|-replica|-replica\.new|\.restoring.*|\.lock)$/;
const FILE = /^[a-z0-9][a-z0-9_~-]*\/[a-z0-9][\w.~-]*$/;

export class ProjectFolders {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Null means that this folder does not belong to a service yet. */
  identity(): Identity | null {
    const file = path.join(this.#directory, IDENTITY);
    if (!existsSync(file)) return null;
    return JSON.parse(readFileSync(file, 'utf8')) as Identity;
  }

  newIdentity(isNew: boolean): Identity {
    return { id: randomBytes(12).toString('base64url'), isLeased: isNew, isRegistered: isNew };
  }

  keepIdentity(identity: Identity): void {
    const file = path.join(this.#directory, IDENTITY);
    writeFileSync(`${file}.new`, JSON.stringify(identity), { mode: 0o600, flush: true });
    renameSync(`${file}.new`, file);
  }

  /** Namespaces of a project; null means all projects. */
  namespaces(project: string | null = null): string[] {
    return readdirSync(this.#directory, { withFileTypes: true }).flatMap((entry) => {
      const isOne = entry.isDirectory() && isDatabaseName(`${entry.name}/main`);
      return isOne && (project === null || projectOf(`${entry.name}/`) === project) ? [entry.name] : [];
    });
  }

  projects(): string[] {
    return [...new Set(this.namespaces().map((namespace) => projectOf(`${namespace}/`)))];
  }

  /** Marks a project that has arrived, but whose home is still another service until the move is decided. */
  #adoptedPath(project: string): string {
    return path.join(this.#directory, `.adopted-${project}`);
  }

  forgetAdopted(project: string): void {
    rmSync(this.#adoptedPath(project), { force: true });
  }

  /**
   * Moves the files of a project to a folder from which nothing is served, unless they have just arrived.
   *
   * @returns whether the project had files.
   */
  setAside(project: string, evenAdopted = false): boolean {
    if (!evenAdopted && existsSync(this.#adoptedPath(project))) return false;
    const namespaces = this.namespaces(project);
    if (namespaces.length === 0) return false;
    const target = path.join(this.#directory, FORMER, `${Date.now()}-${randomBytes(4).toString('hex')}`);
    mkdirSync(target, { recursive: true, mode: 0o700 });
    for (const namespace of namespaces) renameSync(path.join(this.#directory, namespace), path.join(target, namespace));
    return true;
  }

  remove(project: string): void {
    for (const namespace of this.namespaces(project))
      rmSync(path.join(this.#directory, namespace), { recursive: true, force: true });
  }

  /** Deletes folders that were set aside this many days ago. */
  expire(days: number): void {
    const folder = path.join(this.#directory, FORMER);
    if (!existsSync(folder)) return;
    for (const name of readdirSync(folder)) {
      const found = statSync(path.join(folder, name), { throwIfNoEntry: false });
      if (found !== undefined && Date.now() - found.ctimeMs > days * DAY_MS)
        rmSync(path.join(folder, name), { recursive: true, force: true });
    }
  }

  /** The files of a project. */
  files(project: string): ProjectFile[] {
    return this.namespaces(project).flatMap((namespace) =>
      readdirSync(path.join(this.#directory, namespace)).flatMap((name) => {
        const found = statSync(path.join(this.#directory, namespace, name), { throwIfNoEntry: false });
        const isOne = found?.isFile() === true && FILE.test(`${namespace}/${name}`) && !LEFT_OUT.test(name);
        return isOne ? [{ path: `${namespace}/${name}`, bytes: found.size }] : [];
      }),
    );
  }

  pathOf(file: string): string {
    return path.join(this.#directory, file);
  }

  /**
   * A folder for a project's arriving files. @throws {RangeError} for a file that does not belong to the project.
   */
  arriving(
    project: string,
    files: readonly ProjectFile[],
  ): { pathOf(file: string): string; keep(): void; drop(): void } {
    for (const { path: file } of files)
      if (!FILE.test(file) || projectOf(file) !== project) throw new RangeError(`${file} is no file of ${project}`);
    const folder = path.join(this.#directory, `.arriving-${project}-${randomBytes(4).toString('hex')}`);
    for (const { path: file } of files)
      mkdirSync(path.join(folder, path.dirname(file)), { recursive: true, mode: 0o700 });
    const drop = (): void => rmSync(folder, { recursive: true, force: true });
    return {
      pathOf: (file) => path.join(folder, file),
      keep: () => {
        this.setAside(project, true);
        writeFileSync(this.#adoptedPath(project), '', { mode: 0o600 });
        for (const namespace of existsSync(folder) ? readdirSync(folder) : [])
          renameSync(path.join(folder, namespace), path.join(this.#directory, namespace));
        drop();
      },
      drop,
    };
  }
}
