// The addresses of the areas themselves: they lead to the first binding that there is.
import { AreaPage } from './binding-page.tsx';
import { jobsArea, storageArea } from './kinds.ts';

export function StoragePage() {
  return <AreaPage area={storageArea} kind={null} />;
}

export function JobsPage() {
  return <AreaPage area={jobsArea} kind={null} />;
}
