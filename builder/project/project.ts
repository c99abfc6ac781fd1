// The parts of a project's configuration used by the builder (core/config/project-config.ts): types, and one rule
// shared by both bundlers.
import type { ProjectConfig } from '#core/config/project-config.ts';

/** The fields of platform.yaml that determine a project's entry. */
export type EntryConfig = Pick<ProjectConfig, 'kind' | 'main' | 'build' | 'out'>;

/** The fields of platform.yaml that an artifact depends on. */
export type BuildConfig = EntryConfig &
  Pick<
    ProjectConfig,
    | 'assets'
    | 'compatibilityDate'
    | 'compatibilityFlags'
    | 'bindings'
    | 'queues'
    | 'workflowClasses'
    | 'auth'
    | 'cron'
    | 'previews'
    | 'release'
    | 'ai'
    | 'objects'
    | 'objectClasses'
    | 'skewProtection'
  >;

/** Whether Node's modules are available: yes, unless a flag disables them. */
export function hasNodeCompat(config: Pick<ProjectConfig, 'compatibilityFlags'>): boolean {
  return !config.compatibilityFlags.includes('no_nodejs_compat');
}
