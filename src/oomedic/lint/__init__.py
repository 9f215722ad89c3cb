"""Manifests judged before they ship: will each engine start on every GPU that its pod could get?"""
