// The projects of a workspace that the project of `platform dev` calls with service bindings, and what these call:
// built and served in the same engine. Called by session.ts with each build.
import path from 'node:path';
import { parseServiceTarget } from '#core/bindings/service.ts';
import type { DevDeployment } from '#runtime/dev/dev.ts';
import { buildProject, type Project } from '../project/project.ts';
import { placeOf, readRepository } from '../project/repository.ts';
import { devEnvironment } from './environment.ts';

type DevService = NonNullable<DevDeployment['services']>[number];

/** Other projects of a workspace. */
export interface OtherProjects {
  /** Loads the project in a folder; throws configuration errors. */
  readonly load: (folder: string) => Project;
  readonly nameOf: (project: Project) => string;
}

/** Dependencies of {@link buildServices}. */
interface ServiceDeps extends OtherProjects {
  /** Folder of the artifacts. */
  readonly artifacts: string;
  readonly warn: (message: string) => void;
}

/** The projects that a project calls, in the workspace. A project that is not there is warned of. */
export async function buildServices(project: Project, deps: ServiceDeps): Promise<readonly DevService[]> {
  const { load, nameOf, artifacts, warn } = deps;
  const made = new Map<string, DevService>();
  const waiting = calledBy(project);
  if (waiting.length === 0) return [];
  const others = new Map<string, Project>();
  const { repository } = placeOf(project.folder);
  for (const file of readRepository(repository).projectFiles) {
    const folder = path.join(repository, path.dirname(file));
    if (folder === project.folder) continue;
    const other = load(folder);
    others.set(nameOf(other), other);
  }
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (made.has(name) || name === nameOf(project)) continue;
    const other = others.get(name);
    if (other === undefined) {
      warn(`The workspace has no project ${name}: calls of its service bindings fail`);
      continue;
    }
    const { folder } = await buildProject(other, artifacts, { durable: false, compress: false, onWarning: warn });
    made.set(name, { ...(await devEnvironment(other, warn)), project: name, artifactFolder: folder });
    waiting.push(...calledBy(other));
  }
  return [...made.values()];
}

function calledBy({ config }: Project): string[] {
  return Object.values(config.bindings.service ?? {}).map((target) => parseServiceTarget(target).project);
}
