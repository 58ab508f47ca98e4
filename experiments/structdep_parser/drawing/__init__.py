"""Dependency trees and figures as drawings."""
