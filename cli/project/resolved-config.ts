// The resolved configuration of a project: detected settings are filled in as for a push. Called by project.ts and the
// session of `platform dev`.
import path from 'node:path';
import type { ProjectConfig } from '#core/config/project-config.ts';
import { detect, type Detection } from '#builder/frameworks/detect.ts';
import { filesIn } from '#builder/frameworks/project-files.ts';
import { resolveConfig } from '#builder/frameworks/resolve-config.ts';
import { realPath } from '#builder/project/containment.ts';

/** Folders of a {@link Project}. */
interface Folders {
  readonly root: string;
  readonly workspace: string;
}

/** Detects settings from the files of a project and its workspace. */
export function detectIn({ root, workspace }: Folders): Detection {
  const [top, folder] = [workspace, root].map((place) => realPath(place) ?? place);
  return detect(filesIn(top!), path.relative(top!, folder!).split(path.sep).join('/') || '.');
}

/**
 * @param say receives a line for each detected setting.
 * @throws {BuildError} `not_supported` if the project cannot be built.
 */
export function resolveProject<Project extends Folders & { readonly config: ProjectConfig }>(
  project: Project,
  say: (text: string) => void = () => {},
): Project {
  const { config, said } = resolveConfig(project.config, { build: null, out: null }, detectIn(project));
  const { kind, build, main } = project.config;
  if (config.kind !== kind || config.build !== build || config.main !== main) for (const text of said) say(text);
  return { ...project, config };
}
