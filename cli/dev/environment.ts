// Variables, migrations and dashboard configuration of a dev deployment. Reloaded with each deployment.
import { isAiVariable } from '#core/ai-settings.ts';
import { containmentOf } from '#builder/project/containment.ts';
import { readMigrations } from '#builder/build/migrations.ts';
import type { DevDeployment } from '#runtime/dev/contract/dev-engine.ts';
import type { Project } from '../project/project.ts';
import { readVariables } from '../project/variables.ts';

/** @throws {BuildError} for unreadable migrations. */
export async function devEnvironment(
  project: Project,
  warn?: (text: string) => void,
): Promise<Omit<DevDeployment, 'artifactFolder'>> {
  const found = await readMigrations(containmentOf(project.root), project.config.bindings.db ?? {});
  // Skip empty files, because an editor may still be writing them, and an applied migration cannot be changed.
  const migrations = found.map(({ resource, files }) => ({
    resource,
    files: files.filter(([, sql]) => sql.trim() !== ''),
  }));
  return { vars: ofWorker(readVariables(project.folder, warn)), migrations, config: project.config };
}

/** Variables without keys of model providers, which only the gateway gets, as in production. */
export function ofWorker(variables: Readonly<Record<string, string>>): Record<string, string> {
  const own = Object.entries(variables).filter(([name]) => !isAiVariable(name) && !name.startsWith('PLATFORM_DEV_AI_'));
  return Object.fromEntries(own);
}
