import type { Routes } from '@angular/router';
import { Form } from './form';
import { Home } from './home';
import { Missing } from './missing';

export const routes: Routes = [
  { path: '', component: Home },
  { path: 'form', component: Form },
  { path: '**', component: Missing },
];
