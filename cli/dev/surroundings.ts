// What a deployment of `platform dev` has beside its artifact: variables, migrations, the configuration that the
// dashboard shows. Read again with each deployment.
import { isAiVariable } from '#core/ai-settings.ts';
import { containmentOf } from '#builder/project/containment.ts';
import { readMigrations } from '#builder/build/migrations.ts';
import type { DevDeployment } from '#runtime/dev/dev.ts';
import type { Project } from '../project/project.ts';
import { readVariables } from '../project/variables.ts';

/** @throws {BuildError} for migrations that cannot be read. */
export async function surroundingsOf(
  project: Project,
  warn?: (text: string) => void,
): Promise<Omit<DevDeployment, 'artifactFolder'>> {
  const found = await readMigrations(containmentOf(project.root), project.config.bindings.db ?? {});
  // A file that is being written is empty for a moment: applied like that, it could not be changed any more.
  const migrations = found.map(({ resource, files }) => ({
    resource,
    files: files.filter(([, sql]) => sql.trim() !== ''),
  }));
  return { vars: ofWorker(readVariables(project.folder, warn)), migrations, config: project.config };
}

/** Keys of model providers are the gateway's, here as in production. */
export function ofWorker(variables: Readonly<Record<string, string>>): Record<string, string> {
  const own = Object.entries(variables).filter(([name]) => !isAiVariable(name) && !name.startsWith('PLATFORM_DEV_AI_'));
  return Object.fromEntries(own);
}
