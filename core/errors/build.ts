// Errors of builds: the reason of a failed deployment, with its message in the build log. Joined in ../errors.ts.
import type { ErrorRow } from './row.ts';

export const buildErrors = {
  clone_failed: { status: 422, blame: 'worker', message: '{reason}' },
  source_unsafe: { status: 422, blame: 'worker', message: '{reason}' },
  source_too_large: { status: 413, blame: 'worker', message: '{reason}' },
  repository_empty: { status: 422, blame: 'worker', message: '{reason}' },
  repository_unavailable: { status: 422, blame: 'worker', message: '{reason}' },
  git_host_unavailable: { status: 503, blame: 'platform', message: '{reason}' },
  configuration_invalid: { status: 422, blame: 'worker', message: '{reason}' },
  install_failed: { status: 422, blame: 'worker', message: '{reason}' },
  build_timeout: { status: 504, blame: 'worker', message: '{reason}' },
  out_of_memory: { status: 422, blame: 'worker', message: '{reason}' },
  too_many_processes: { status: 422, blame: 'worker', message: '{reason}' },
  servers_refused: { status: 422, blame: 'platform', message: '{reason}' },
  confinement_failed: { status: 503, blame: 'platform', message: '{reason}' },
  sandbox_failed: { status: 503, blame: 'platform', message: '{reason}' },
  sandbox_unfit: { status: 422, blame: 'worker', message: '{reason}' },
  artifact_not_stored: { status: 503, blame: 'platform', message: '{reason}' },
  interrupted: { status: 503, blame: 'platform', message: '{reason}' },
  not_confined: { status: 503, blame: 'platform', message: '{reason}' },
  variables_unreadable: { status: 503, blame: 'platform', message: '{reason}' },
  credentials_not_scoped: { status: 422, blame: 'platform', message: '{reason}' },
  too_many_files: { status: 422, blame: 'worker', message: '{reason}' },
  commit_not_found: { status: 422, blame: 'worker', message: '{reason}' },
  submodules_unsupported: { status: 422, blame: 'worker', message: '{reason}' },
} as const satisfies Record<string, ErrorRow>;
