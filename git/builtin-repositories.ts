// Paths of the platform's own bare repositories. The API process receives pushes to these repositories; the builder
// reads them. Pure.
import path from 'node:path';

/** The folder of the repositories. @param dataFolder `FS_PATH` */
export function repositoriesFolder(dataFolder: string): string {
  return path.join(dataFolder, 'repositories');
}

/**
 * The folder of one repository. @example repositoryFolder(folder, 'rep_4m1k8...') //
 * '<FS_PATH>/repositories/rep_4m1k8....git'
 */
export function repositoryFolder(dataFolder: string, id: string): string {
  return path.join(repositoriesFolder(dataFolder), `${id}.git`);
}
