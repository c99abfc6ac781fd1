// Index pages of the areas: they redirect to the first binding.
import { AreaPage } from './binding-page.tsx';
import { jobsArea, storageArea } from './kinds.ts';

export function StoragePage() {
  return <AreaPage area={storageArea} kind={null} />;
}

export function JobsPage() {
  return <AreaPage area={jobsArea} kind={null} />;
}
