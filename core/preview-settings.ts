// What `previews` in platform.yaml says: what previews have and do. Read by the engine and the broker. Pure.
import { isForkBranch } from './names.ts';

/** A preview's databases, and which events reach its branch. */
export interface PreviewSettings {
  /** Of production's content, or with migrations only. */
  readonly db: 'copy' | 'empty';
  readonly cron: 'on' | 'off';
  readonly queue: 'on' | 'off';
  readonly timer: 'on' | 'off';
}

/** Of a project that says nothing. */
export const defaultPreviewSettings: PreviewSettings = { db: 'copy', cron: 'off', queue: 'on', timer: 'on' };

/** What differs from the defaults, as manifests have it; null where nothing does. */
export function ownPreviewSettings(settings: PreviewSettings): Partial<PreviewSettings> | null {
  const own = Object.entries(settings).filter(
    ([key, value]) => defaultPreviewSettings[key as keyof PreviewSettings] !== value,
  );
  return own.length === 0 ? null : Object.fromEntries(own);
}

/** The settings of a manifest. */
export function previewSettingsOf({ previews }: { readonly previews?: Partial<PreviewSettings> }): PreviewSettings {
  return { ...defaultPreviewSettings, ...previews };
}

/** Whether a preview's databases begin with production's content. Those of forks never do, whatever their files say. */
export function copiesDatabases(manifest: { readonly previews?: Partial<PreviewSettings> }, branch: string): boolean {
  return previewSettingsOf(manifest).db === 'copy' && !isForkBranch(branch);
}
