import PhotoCore
