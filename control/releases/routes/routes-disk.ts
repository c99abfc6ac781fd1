// Routes in the folder `routes` of the data folder, for handlers on this machine and on machines that mount it.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readRoute, recordHash, recordText, removeRoute, replaceRoute } from '#artifacts/route-records.ts';
import { writeStorageLeft } from '#core/storage-left.ts';
import type { RouteFiles } from '#artifacts/route-files.ts';

/** @param folder `FS_PATH`. */
export function openRoutesDisk(folder: string): RouteFiles {
  const fileOf = (project: string): string => path.join(folder, 'routes', `${project}.json`);
  const has = (project: string): boolean => existsSync(fileOf(project));
  return {
    hashOf: (project) => Promise.resolve(has(project) ? recordHash(folder, project) : ''),
    outdated(records) {
      const found = records.filter(
        (record) => !has(record.project) || readFileSync(fileOf(record.project), 'utf8') !== recordText(record),
      );
      return Promise.resolve(new Set(found.map(({ project }) => project)));
    },
    async replace(record) {
      replaceRoute(folder, record);
    },
    async remove(project) {
      removeRoute(folder, project);
    },
    async leaveStorage(left) {
      writeStorageLeft(folder, left);
    },
    async unmanaged(project) {
      return readRoute(folder, project);
    },
  };
}
